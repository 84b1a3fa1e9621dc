"""Store the words behind a cosine on disk, keyed by digests of model, sentences and settings."""

from __future__ import annotations

import json
import logging
import zipfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

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

VERSION = "1"  # a new one if the meaning of the parts changes, so that old ones are not used
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
) -> Work[WordPair]:
    """Read what is stored, or compute and store it; only then is the encoder loaded, in float32 on the device."""
    name = key(found.digest, sentences, reading.title, reference, max_length, device)
    pair = kept(name)
    if pair is not None:
        return pair
    yield Progress(f"loading {found.name}", 0, 0)
    pair = yield from word_pair(load(), *sentences, reading, reference, max_length)
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
    notes = json.dumps({"words": pair.words, "cosine": pair.cosine, "points": pair.points, **cut})
    path = folder / f"{name}.npz" if folder else _path(name)
    write_whole(path, lambda file: np.savez_compressed(file, notes=np.array(notes), matrix=pair.matrix))


def _read(path: Path) -> WordPair | None:
    try:
        with np.load(path, allow_pickle=False) as file:
            notes, matrix = json.loads(str(file["notes"])), file["matrix"]
        (first, second), (one, other) = notes["words"], notes["points"]
        cuts = [None if cut is None else (int(cut[0]), int(cut[1])) for cut in notes.get("cuts", (None, None))]
        if matrix.shape != (len(first) + 1, len(second) + 1):
            return None
        return WordPair((tuple(first), tuple(second)), matrix, float(notes["cosine"]), (one, other), (cuts[0], cuts[1]))
    except (OSError, EOFError, ValueError, LookupError, TypeError, zipfile.BadZipFile):
        return None


def _path(name: str) -> Path:
    return cache_folder() / "words" / f"{name}.npz"
