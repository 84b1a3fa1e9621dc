"""The cosine of two sentences as an exact sum over their words, computed once and then read from the disk.

What is stored has a key of the digests of model and sentences, and of every setting.
"""

from __future__ import annotations

import json
import logging
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from explorer.data.text_sets import digest_of
from explorer.encoding.read.pooling import PAD, REFERENCES, WORD_TOKENS, Reading
from explorer.errors import ModelError, NotWritable
from explorer.knobs import Knobs, knob
from explorer.measuring.sentences.edit_costs import EditCosts, edit_costs
from explorer.measuring.sentences.edits import Edit
from explorer.places import cache_folder, examples_folder, write_whole
from explorer.progress import Progress, Work

if TYPE_CHECKING:
    from explorer.encoding.locate.model_names import Found
    from explorer.encoding.read.encoder import Encoder


logger = logging.getLogger(__name__)

Floats = NDArray[np.float64]
Cut = tuple[int, int]  # the first so many tokens of a sentence took part, of so many

VERSION = "3"  # a new one if the meaning of the parts changes, so that old ones are not used
_ARRAYS = ("first", "second")  # the contributions of either sentence
_COSTS = ("costs", "by_layer", "errors")
WORDS = "words"  # the folder of those that ship with the examples


@dataclass(frozen=True)
class WordOptions(Knobs):
    """What the words of a sentence are compared with."""

    reference: str = knob(
        PAD, choices=REFERENCES, help="What replaces the words in the sentence that the sum starts from."
    )


@dataclass(frozen=True, eq=False)
class WordPair:
    """The words of two sentences, and what each adds to their cosine.

    The contributions of a sentence, and what it adds without its words (its rest), add up to the cosine; the sum misses
    it by `missed`. A cell of the matrix is what a word of the first sentence (row) and one of the second (column) add
    together; its last row and column are of the sentences without their words, and all cells add up to the cosine.
    The costs of the edits add up to 1 minus the cosine.
    """

    words: tuple[tuple[str, ...], tuple[str, ...]]
    contributions: tuple[Floats, Floats]
    rests: tuple[float, float]
    cosine: float
    points: tuple[int, int]  # on the paths from the references
    cuts: tuple[Cut | None, Cut | None] = (None, None)  # None: the whole sentence took part
    matrix: Floats | None = None
    edits: EditCosts | None = None  # None: the sentences are equal, or differ in too many places

    @property
    def missed(self) -> float:
        """How far the sums are from the cosine."""
        sums = (each.sum() + rest for each, rest in zip(self.contributions, self.rests, strict=True))
        return max(abs(float(total) - self.cosine) for total in sums)


@dataclass(frozen=True)
class WordChange:
    """What a word adds to the cosine under two models."""

    sentence: int  # 1 or 2
    place: int  # among its words, from 1
    word: str
    before: float
    after: float

    @property
    def gap(self) -> float:
        """After minus before."""
        return self.after - self.before


def word_pair(
    encoder: Encoder,
    first: str,
    second: str,
    reading: Reading,
    reference: str = PAD,
    max_length: int | None = None,
    *,
    matrix: bool = False,
    costs: EditCosts | None = None,
) -> Work[WordPair]:
    """What the words add, and, which takes several times as long, the matrix.

    Without a maximum length, sentences of more than `WORD_TOKENS` tokens get no matrix. Exact costs of the edits
    that are given are not computed again.
    """
    from explorer.encoding.read.word_parts import added, ends_of, word_parts

    yield Progress("encoding words", 0, 0)
    one, other = (ends_of(encoder, text, reading, reference, max_length) for text in (first, second))
    words, cuts = (one.words.texts, other.words.texts), (one.words.cut, other.words.cut)
    cosine = float(one.last @ other.last)
    edits = costs
    if edits is None or edits.errors is not None:
        edits = yield from edit_costs(encoder, first, second, reading, max_length)
    if matrix and (max_length is not None or max(len(one.words.ids), len(other.words.ids)) <= WORD_TOKENS):
        left, point_count = yield from word_parts(one)
        right, other_count = (left, point_count) if first == second else (yield from word_parts(other))
        rows, columns = (np.vstack([of, side.first[None].cpu().numpy()]) for of, side in ((left, one), (right, other)))
        cells = rows @ columns.T
        by_row, by_column = cells.sum(axis=1), cells.sum(axis=0)
        rests = float(by_row[-1]), float(by_column[-1])
        points = point_count, other_count
        return WordPair(words, (by_row[:-1], by_column[:-1]), rests, cosine, points, cuts, cells, edits)
    of_first, (_, weights) = yield from added(one, other.last)
    of_second, (_, other_weights) = yield from added(other, one.last)
    rests = float(one.first @ other.last), float(other.first @ one.last)
    points = len(weights), len(other_weights)
    return WordPair(words, (of_first, of_second), rests, cosine, points, cuts, edits=edits)


def changes(before: WordPair, after: WordPair) -> tuple[WordChange, ...]:
    """The change of every word, largest first; none if the models split the sentences into other words."""
    if before.words != after.words:
        return ()
    found = [
        WordChange(sentence, place, word, float(old), float(new))
        for sentence, (words, olds, news) in enumerate(
            zip(before.words, before.contributions, after.contributions, strict=True), start=1
        )
        for place, (word, old, new) in enumerate(zip(words, olds, news, strict=True), start=1)
    ]
    return tuple(sorted(found, key=lambda change: -abs(change.gap)))


@dataclass(frozen=True, eq=False)
class Explained:
    """Two sentences, and the words behind their cosine under each side."""

    sentences: tuple[str, str]
    pairs: Mapping[str, WordPair]  # by side: A, or A and B


@dataclass(frozen=True, eq=False)
class ExplainedPairs:
    """The words behind several cosines; none, and why, if a model's words cannot be weighed."""

    pairs: tuple[Explained, ...] = ()
    why_none: str = ""


def key(
    model: str,
    sentences: tuple[str, str],
    title: str,
    reference: str = PAD,
    max_length: int | None = None,
    device: str = "auto",
) -> str:
    """The key of a pair: the digests of the model and of the sentences, layer & pooling, and every setting."""
    texts = digest_of(sentences)
    return digest_of(("words", VERSION, model, texts, title, reference, str(max_length), device))


def measured(
    found: Found,
    sentences: tuple[str, str],
    reading: Reading,
    load: Callable[[], Encoder],
    reference: str = PAD,
    max_length: int | None = None,
    device: str = "auto",
    *,
    matrix: bool = False,
    costs: EditCosts | None = None,
) -> Work[WordPair]:
    """Read what is stored, or compute and store it; only then is the encoder loaded, in float32 on the device.

    A stored pair without its matrix is computed anew if the matrix is wanted. `costs` are as in `word_pair`.
    """
    name = key(found.digest, sentences, reading.title, reference, max_length, device)
    pair = kept(name)
    if pair is not None and not (matrix and pair.matrix is None):
        return pair
    yield Progress(f"loading {found.name}", 0, 0)
    if pair is not None:
        costs = pair.edits
    pair = yield from word_pair(load(), *sentences, reading, reference, max_length, matrix=matrix, costs=costs)
    try:
        keep(name, pair)
    except NotWritable as error:  # return the pair even if it cannot be stored
        logger.warning("The words were not stored. %s", error)
    return pair


def of_pairs(
    sides: Mapping[str, tuple[Found, Reading]],
    pairs: Sequence[tuple[str, str]],
    load: Callable[[Found], Encoder],
    max_length: int | None = None,
    device: str = "auto",
) -> Work[ExplainedPairs]:
    """The words of every pair under every side, or why there are none: a refused model does not end the work."""
    done = []
    try:
        for pair in pairs:
            found = {}
            for side, (model, reading) in sides.items():
                work = measured(model, pair, reading, partial(load, model), PAD, max_length, device)
                found[side] = yield from work
            done.append(Explained(pair, found))
    except ModelError as error:
        return ExplainedPairs(why_none=str(error))
    return ExplainedPairs(tuple(done))


def kept(name: str) -> WordPair | None:
    """Load the pair of a key: stored on this disk, or shipped with an example; None if missing or broken."""
    found = _read(_path(name))
    return found if found is not None else _read(examples_folder() / WORDS / f"{name}.npz")


def keep(name: str, pair: WordPair, folder: Path | None = None) -> None:
    """Store a pair atomically, in the cache or in another folder."""
    cut = {"cuts": pair.cuts} if any(pair.cuts) else {}
    about = {"words": pair.words, "rests": pair.rests, "cosine": pair.cosine, "points": pair.points, **cut}
    if pair.edits is not None:
        edits = [(one.kind, one.before, one.after) for one in pair.edits.edits]
        about |= {"edits": edits, "pooling": pair.edits.pooling}
    arrays: dict[str, Any] = {
        "notes": np.array(json.dumps(about)),
        **dict(zip(_ARRAYS, pair.contributions, strict=True)),
    }
    if pair.matrix is not None:
        arrays["matrix"] = pair.matrix
    if pair.edits is not None:
        arrays |= {name: values for name in _COSTS if (values := getattr(pair.edits, name)) is not None}
    path = folder / f"{name}.npz" if folder else _path(name)
    write_whole(path, lambda file: np.savez_compressed(file, **arrays))


def _read(path: Path) -> WordPair | None:
    try:
        with np.load(path, allow_pickle=False) as file:
            notes, (one, other) = json.loads(str(file["notes"])), (file[array] for array in _ARRAYS)
            matrix = file["matrix"] if "matrix" in file.files else None
            costs = {name: file[name] for name in _COSTS if name in file.files}
        first, second = (tuple(map(str, side)) for side in notes["words"])
        shapes = (one.shape, other.shape) == ((len(first),), (len(second),))
        if not shapes or (matrix is not None and matrix.shape != (len(first) + 1, len(second) + 1)):
            return None
        edits = None
        if "edits" in notes:
            named = tuple(Edit(*map(str, edit)) for edit in notes["edits"])
            edits = EditCosts(named, pooling=str(notes["pooling"]), **costs)
            if any(values.shape[-1:] != (len(named),) for values in costs.values()) or edits.by_layer.ndim != 2:
                return None
        rest, other_rest = map(float, notes["rests"])
        points, other_points = map(int, notes["points"])
        cut, other_cut = (each and (int(each[0]), int(each[1])) for each in notes.get("cuts", (None, None)))
        return WordPair(
            words=(first, second),
            contributions=(one, other),
            rests=(rest, other_rest),
            cosine=float(notes["cosine"]),
            points=(points, other_points),
            cuts=(cut, other_cut),
            matrix=matrix,
            edits=edits,
        )
    except (OSError, EOFError, ValueError, LookupError, TypeError, zipfile.BadZipFile):
        return None


def _path(name: str) -> Path:
    return cache_folder() / "words" / f"{name}.npz"
