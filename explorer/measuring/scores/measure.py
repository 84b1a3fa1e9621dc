"""Scores of an encoder on a set: stored ones if they exist, else measured and stored.

They are stored on disk, with a key of the digests of model, pairs and settings.
"""

from __future__ import annotations

import json
import logging
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from explorer.data.text_sets import GradedPairs, digest_of
from explorer.encoding.load import declared, hardware
from explorer.encoding.locate import stored_vectors
from explorer.encoding.read.pooling import GRID_POOLINGS, Reading, Row
from explorer.errors import NotWritable
from explorer.knobs import Knobs, knob
from explorer.measuring.scores.layer_scores import LayerScores, score_layers
from explorer.places import cache_folder, examples_folder, write_whole
from explorer.progress import Progress, Work

if TYPE_CHECKING:
    from explorer.encoding.locate.model_names import Found
    from explorer.encoding.read.encoder import Encoder

logger = logging.getLogger(__name__)


SHORTEST = 3  # tokens: [CLS], a word, [SEP]
# a new version if the meaning of scores changes, so that old ones are not used
VERSION = "2"

SCORES = "scores"  # the folder of scores that ship with the examples

_ARRAYS = ("cosines", "own", "gold")
_NOTES = ("own_title", "precision", "device", "device_name", "max_length", "truncated", "sentences", "seconds")


@dataclass(frozen=True)
class Settings(Knobs):
    """Measurement settings; the device chosen for `auto` is stored with the scores.

    The precision is float32 unless bfloat16 is asked for, so that pages and commands show the same number on every
    machine.
    """

    precision: str = knob(
        hardware.MEASURED[0],
        choices=hardware.MEASURED,
        help="float32 gives the same number on every page and machine. bfloat16 is up to twice as fast where the "
        "processor or GPU computes in it, and changes scores by up to 0.2.",
    )
    device: str = knob("auto", choices=hardware.DEVICES, help="auto chooses a GPU if there is one.")
    max_length: int | None = knob(
        None,
        item=int,
        low=SHORTEST,
        title="Maximum length, in tokens",
        metavar="TOKENS",
        empty="the model's limit",
        help="3 or more. Longer sentences are cut, and counted.",
    )
    windows: bool = (
        False  # whether passages beyond that are read in windows; its form and flag are those of evaluations
    )


def resolved(settings: Settings) -> Settings:
    """The settings with the device that `auto` stands for on this machine; this loads torch."""
    return replace(settings, device=hardware.device(settings.device))


Load = Callable[["Found", Settings], "Encoder"]


def shelf_key(found: Found, pairs: GradedPairs, settings: Settings) -> str:
    """The key of stored scores: model, set and settings."""
    of_settings = settings.precision, settings.device, settings.max_length
    return score_key(found.digest, pairs.digest, *of_settings, declared.poolings(found.folder))


def load_encoder(found: Found, settings: Settings) -> Encoder:
    """Load the encoder, or open its vectors, in the chosen precision and on the chosen device."""
    if stored_vectors.are_in(found.folder):
        from explorer.encoding.load import stored_encoder

        return stored_encoder.encoder(found, settings.precision, settings.device)
    from explorer.encoding.load.loading import load

    encoder = load(found, precision=settings.precision, device=settings.device)
    return encoder if found.prompt is None else with_room(encoder, settings)


def with_room(encoder: Encoder, settings: Settings) -> Encoder:
    """An encoder after a chosen prompt, if that leaves room for a text within the maximum length of the settings."""
    encoder.check_room("chosen", encoder.default_head.prompt, encoder.limit(settings.max_length))
    return encoder


def measure(
    found: Found,
    pairs: GradedPairs,
    settings: Settings,
    load: Load = load_encoder,
    *,
    again: bool = False,
    also: Sequence[Reading] = (),
) -> Work[LayerScores]:
    """Load stored scores, or measure and store them; `again` measures even what is stored.

    They are stored under the requested settings, so that resolving `auto` does not need torch next time, and under the
    settings used, so that requesting these by name does not measure again. What is stored under `auto` may thus be of
    another machine, or ship with an example: scores say their device. Layers & poolings outside of the grid (`also`)
    are measured in the same pass, or in one of their own where the grid is stored, and stored with it.
    """
    asked = shelf_key(found, pairs, settings)
    scores = None if again else stored_scores(asked)
    if scores is not None and not scores.lacks(also):
        return scores.only(also)
    yield Progress(f"loading {found.name}", 0, 0)
    encoder = load(found, settings)
    used = shelf_key(found, pairs, Settings(encoder.precision, encoder.device, encoder.limit(settings.max_length)))
    scores = None if again else stored_scores(used)
    if scores is None or scores.lacks(also):
        before = scores
        scores = yield from score_layers(encoder, pairs, settings.max_length, also)
        if before is not None:
            broken = dict.fromkeys((*before.not_finite, *scores.not_finite))
            scores = replace(scores, also={**before.also, **scores.also}, not_finite=tuple(broken))
    try:
        store_scores(asked, scores)
        store_scores(used, scores)
    except NotWritable as error:  # return the scores even if they cannot be stored
        logger.warning("The scores were not stored. %s", error)
    return scores.only(also)


def score_key(
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


def stored_scores(name: str) -> LayerScores | None:
    """Load scores by their `score_key`: stored on this disk, or shipped with an example; None if missing or broken."""
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


def store_scores(name: str, scores: LayerScores, folder: Path | None = None) -> None:
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
