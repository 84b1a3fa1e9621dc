"""Store what each item of an evaluation set gets under every layer & pooling."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from explorer.data.kinds import digest_of
from explorer.encoding.read.readings import Reading, Row
from explorer.evaluating.tasks.item_scores import ItemGrid, ItemScores
from explorer.places import cache_folder, write_whole

VERSION = "1"  # a new one if the meaning of scores changes, so that old ones are not used
_PLAIN = ("own_title", "precision", "device", "max_length", "truncated", "sentences", "seconds", "measure")


def key(model: str, given: str, main: str, device: str, max_length: int | None, poolings: Sequence[str]) -> str:
    """The key of a measurement: the digests of model and set, the main measure, every setting, and the poolings."""
    return digest_of(("item scores", VERSION, model, given, main, device, str(max_length), *poolings))


def keep(name: str, scores: ItemScores) -> None:
    """Store scores atomically."""
    tables = {scores.measure: ItemGrid(scores.cosines, scores.own, scores.also), **scores.others}
    arrays: dict[str, Any] = {}
    for number, items in enumerate((*tables.values(), *scores.details.values())):
        arrays[f"grid {number}"] = items.grid
        if items.own is not None:
            arrays[f"own {number}"] = items.own
        if items.also:
            arrays[f"also {number}"] = np.stack(list(items.also.values()))
    notes = {note: getattr(scores, note) for note in _PLAIN}
    notes |= {"rows": [row.layers for row in scores.rows], "poolings": scores.poolings, "named": scores.named}
    notes |= {"measures": list(tables), "details": list(scores.details)}
    notes |= {what: [(one.pooling, one.row.layers) for one in getattr(scores, what)] for what in ("also", "not_finite")}
    write_whole(_path(name), lambda file: np.savez_compressed(file, notes=np.array(json.dumps(notes)), **arrays))


def kept(name: str) -> ItemScores | None:
    """Load the scores of a key; None if missing or broken."""
    try:
        with np.load(_path(name), allow_pickle=False) as file:
            notes = json.loads(str(file["notes"]))
            arrays = {array: file[array] for array in file.files if array != "notes"}
        also, broken = (
            tuple(Reading(Row(tuple(layers)), pooling) for pooling, layers in notes[what])
            for what in ("also", "not_finite")
        )
        tables = [
            ItemGrid(
                arrays[f"grid {number}"],
                arrays.get(f"own {number}"),
                dict(zip(also, arrays.get(f"also {number}", ()), strict=True)),
            )
            for number in range(len(notes["measures"]) + len(notes["details"]))
        ]
        details = tables[len(notes["measures"]) :]
        count = tables[0].grid.shape[-1]
        return ItemScores(
            rows=tuple(Row(tuple(layers)) for layers in notes["rows"]),
            cosines=tables[0].grid,
            own=tables[0].own,
            gold=np.zeros(count),
            parts=("",) * count,
            poolings=tuple(notes["poolings"]),
            also=tables[0].also,
            not_finite=broken,
            named=tuple(notes["named"]),
            others=dict(zip(notes["measures"][1:], tables[1:], strict=False)),
            details=dict(zip(notes["details"], details, strict=True)),
            **{note: notes[note] for note in _PLAIN},
        )
    except (OSError, EOFError, ValueError, KeyError, IndexError, TypeError, zipfile.BadZipFile):
        return None


def _path(name: str) -> Path:
    return cache_folder() / "item scores" / f"{name}.npz"
