"""Store scores on disk, keyed by digests of model, pairs and settings."""

import json
import zipfile
from pathlib import Path

import numpy as np

from explorer.data.text_sets import digest_of
from explorer.encoding.read.pooling import GRID_POOLINGS, Reading, Row
from explorer.measuring.scores.layer_scores import LayerScores
from explorer.places import cache_folder, examples_folder, write_whole

# a new version if the meaning of scores changes, so that old ones are not used
VERSION = "2"

SCORES = "scores"  # the folder of scores that ship with the examples

_ARRAYS = ("cosines", "own", "gold")
_NOTES = ("own_title", "precision", "device", "max_length", "truncated", "sentences", "seconds")


def key(
    model: str,
    pairs: str,
    precision: str,
    device: str,
    max_length: int | None,
    poolings: tuple[str, ...] = GRID_POOLINGS,
) -> str:
    """The key of a measurement: the digests of the model and of the pairs, every setting, and another grid than the
    usual one."""
    of_grid = () if poolings == GRID_POOLINGS else poolings
    return digest_of(("layer scores", VERSION, model, pairs, precision, device, str(max_length), *of_grid))


def kept(name: str) -> LayerScores | None:
    """Load the scores of a key: stored on this disk, or shipped with an example; None if missing or broken."""
    found = _read(_path(name))
    return found if found is not None else _read(examples_folder() / SCORES / f"{name}.npz")


def _read(path: Path) -> LayerScores | None:
    try:
        with np.load(path, allow_pickle=False) as file:
            notes = json.loads(str(file["notes"]))
            arrays = {array: file[array] for array in (*_ARRAYS, "also") if array in file.files}
        rows = tuple(Row(tuple(layers)) for layers in notes.pop("rows"))
        parts, poolings = tuple(notes.pop("parts")), tuple(notes.pop("poolings", GRID_POOLINGS))
        named = [Reading(Row(tuple(layers)), pooling) for pooling, layers in notes.pop("also", ())]
        also = dict(zip(named, arrays.pop("also", ()), strict=True))
        broken = tuple(Reading(Row(tuple(layers)), pooling) for pooling, layers in notes.pop("not_finite", ()))
        known = {"own": None, "poolings": poolings, "also": also, "not_finite": broken, **arrays}
        return LayerScores(rows=rows, parts=parts, **known, **notes)
    except (OSError, EOFError, ValueError, KeyError, TypeError, zipfile.BadZipFile):
        return None


def keep(name: str, scores: LayerScores, folder: Path | None = None) -> None:
    """Store scores atomically, in the cache or in another folder."""
    notes = {note: getattr(scores, note) for note in _NOTES}
    notes |= {"rows": [row.layers for row in scores.rows], "parts": scores.parts}
    arrays = {array: getattr(scores, array) for array in _ARRAYS if getattr(scores, array) is not None}
    if scores.poolings != GRID_POOLINGS:
        notes["poolings"] = scores.poolings
    if scores.also:
        notes["also"] = [(one.pooling, one.row.layers) for one in scores.also]
        arrays["also"] = np.stack(list(scores.also.values()))
    if scores.not_finite:
        notes["not_finite"] = [(one.pooling, one.row.layers) for one in scores.not_finite]
    path = folder / f"{name}.npz" if folder else _path(name)
    write_whole(path, lambda file: np.savez_compressed(file, notes=np.array(json.dumps(notes)), **arrays))


def _path(name: str) -> Path:
    return cache_folder() / "scores" / f"{name}.npz"
