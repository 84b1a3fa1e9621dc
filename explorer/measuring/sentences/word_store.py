"""Store the words behind a cosine on disk, keyed by digests of model, sentences and settings."""

from __future__ import annotations

import json
import logging
import zipfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from explorer.data.kinds import digest_of
from explorer.encoding.read.readings import PAD, Reading
from explorer.errors import ModelError, NotWritable
from explorer.measuring.sentences.word_pair import WordPair, word_pair
from explorer.measuring.sentences.word_tables import Explained, ExplainedPairs
from explorer.places import cache_folder, examples_folder, write_whole
from explorer.progress import Progress, Work

if TYPE_CHECKING:
    from explorer.encoding.locate.model_names import Found
    from explorer.encoding.read.encoder import Encoder

logger = logging.getLogger(__name__)

VERSION = "2"  # a new one if the meaning of the parts changes, so that old ones are not used
_ARRAYS = ("first", "second")  # the contributions of either sentence
WORDS = "words"  # the folder of those that ship with the examples


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
) -> Work[WordPair]:
    """Read what is stored, or compute and store it; only then is the encoder loaded, in float32 on the device.

    A stored pair without its matrix is computed anew if the matrix is wanted.
    """
    name = key(found.digest, sentences, reading.title, reference, max_length, device)
    pair = kept(name)
    if pair is not None and not (matrix and pair.matrix is None):
        return pair
    yield Progress(f"loading {found.name}", 0, 0)
    pair = yield from word_pair(load(), *sentences, reading, reference, max_length, matrix=matrix)
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
    arrays: dict[str, Any] = {
        "notes": np.array(json.dumps(about)),
        **dict(zip(_ARRAYS, pair.contributions, strict=True)),
    }
    if pair.matrix is not None:
        arrays["matrix"] = pair.matrix
    path = folder / f"{name}.npz" if folder else _path(name)
    write_whole(path, lambda file: np.savez_compressed(file, **arrays))


def _read(path: Path) -> WordPair | None:
    try:
        with np.load(path, allow_pickle=False) as file:
            notes, (one, other) = json.loads(str(file["notes"])), (file[array] for array in _ARRAYS)
            matrix = file["matrix"] if "matrix" in file.files else None
        first, second = (tuple(map(str, side)) for side in notes["words"])
        shapes = (one.shape, other.shape) == ((len(first),), (len(second),))
        if not shapes or (matrix is not None and matrix.shape != (len(first) + 1, len(second) + 1)):
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
        )
    except (OSError, EOFError, ValueError, LookupError, TypeError, zipfile.BadZipFile):
        return None


def _path(name: str) -> Path:
    return cache_folder() / "words" / f"{name}.npz"
