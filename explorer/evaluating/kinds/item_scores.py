"""Score every layer & pooling on a set whose items are scored one by one, and store what each item gets.

Items are queries, triplets, translations or labelled rows.
"""

from __future__ import annotations

import json
import time
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from explorer.data.text_sets import digest_of
from explorer.encoding.load import hardware
from explorer.encoding.read.pooling import MODEL_DEFAULT, OWN, Reading, Row
from explorer.errors import BadChoice
from explorer.evaluating.encoded import as_tensor, encoded, titles_of
from explorer.measuring.scores.judge import DETAILS, Judge
from explorer.measuring.scores.layer_scores import LayerScores
from explorer.measuring.scores.metrics import DISTINGUISHED, MEAN
from explorer.measuring.scores.pair_cosines import ARE_NOT_FINITE, NOT_FINITE
from explorer.places import cache_folder, write_whole
from explorer.progress import Progress, Work

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder

Floats = NDArray[np.float64]

ONE_VECTOR = "not rankable: every text has the same vector"
ARE_ONE_VECTOR = "No score: {}. Every text has the same vector there, so nothing can be ranked."
VERSION = "2"  # a new one if the meaning of scores changes, so that stored ones are not used
_PLAIN = ("own_title", "precision", "device", "max_length", "truncated", "sentences", "seconds", "measure")


@dataclass(frozen=True)
class ItemGrid:
    """A number for each item under every layer & pooling: `grid` (row, pooling, item), `own` and `also` (item)."""

    grid: Floats
    own: Floats | None
    also: Mapping[Reading, Floats] = field(default_factory=dict)

    def of(self, reading: Reading, place: tuple[int, int] | None) -> Floats:
        """The numbers (item) of one layer & pooling, which has this place in the grid."""
        if reading == OWN:
            if self.own is None:
                raise BadChoice("This model declares no model default. Choose a layer & pooling.")
            return self.own
        found: Floats = self.also[reading] if place is None else self.grid[place]
        return found

    def at(self, rows: NDArray[np.intp]) -> ItemGrid:
        """The numbers of some items."""
        own = None if self.own is None else self.own[rows]
        return ItemGrid(self.grid[..., rows], own, {one: each[rows] for one, each in self.also.items()})


@dataclass(frozen=True, eq=False, kw_only=True)
class ItemScores(LayerScores):
    """What each item gets, from 0 to 1, in place of cosines: those of the main measure, and those of `others`.

    A score is the mean of the items. Gold scores and sub-corpora have no part in it. Probe packs are the exception: an
    item is the cosine of a pair, gold scores say which are paraphrases, and the score is of couples.
    """

    measure: str = ""
    others: Mapping[str, ItemGrid] = field(default_factory=dict)
    details: Mapping[str, ItemGrid] = field(default_factory=dict)  # `DETAILS` of the right answer, if any

    @property
    def metrics(self) -> tuple[str, ...]:
        """The main measure, then the others."""
        return self.measure, *self.others

    def statistic(self, metric: str) -> str:
        """The mean, of every measure that there is, but for couples of pairs."""
        if metric not in self.metrics:
            raise BadChoice(f"There is no metric '{metric}' here. Choose one of {', '.join(self.metrics)}.")
        return DISTINGUISHED if metric == DISTINGUISHED else MEAN

    def grid_items(self, metric: str) -> Floats:
        """What each item gets by a measure (row, pooling, item)."""
        return self.others[metric].grid if metric in self.others else self.cosines

    def own_items(self, metric: str) -> Floats | None:
        """What each item gets by a measure under the model default (item)."""
        return self.others[metric].own if metric in self.others else self.own

    def items_of(self, reading: Reading, metric: str) -> Floats:
        """What each item gets by a measure under one layer & pooling (item)."""
        items = self.others[metric] if metric in self.others else ItemGrid(self.cosines, self.own, self.also)
        return items.of(reading, self.place(reading))

    def details_of(self, reading: Reading) -> dict[str, Floats]:
        """What else there is to tell of each item under one layer & pooling, such as its rank."""
        return {name: items.of(reading, self.place(reading)) for name, items in self.details.items()}

    def of_pairs(self, rows: Sequence[int]) -> ItemScores:
        """The scores on some of the items."""
        at = np.asarray(rows, dtype=np.intp)
        some = super().of_pairs(rows)
        assert isinstance(some, ItemScores)
        others = {name: items.at(at) for name, items in self.others.items()}
        return replace(some, others=others, details={name: items.at(at) for name, items in self.details.items()})

    def why_not_measured(self, reading: Reading) -> str:
        """The reason why nothing can be ranked: numbers that are not finite, or that all vectors are one."""
        return NOT_FINITE if reading in self.not_finite else ONE_VECTOR

    @property
    def not_measured_text(self) -> str:
        """What cannot be ranked, and why; "" if everything can."""
        one = [reading.title for reading in self.not_measured if reading not in self.not_finite]
        broken = [reading.title for reading in self.not_finite]
        reasons = ((ARE_ONE_VECTOR, one), (ARE_NOT_FINITE, broken))
        return " ".join(text.format(", ".join(titles)) for text, titles in reasons if titles)


def score_items(
    encoder: Encoder, judge: Judge, max_length: int | None = None, also: Sequence[Reading] = ()
) -> Work[ItemScores]:
    """Encode every text once, and score the items under every layer & pooling of the grid and those of `also`.

    Of labelled texts, one classifier's strength is chosen under the model default and used under all.
    """
    started = time.perf_counter()
    outside = encoder.outside(also)
    titles = (*titles_of(encoder), *(one.title for one in outside))
    found = yield from encoded(encoder, judge.texts, max_length, titles)
    if not judge.is_settled:
        yield Progress("choosing the classifier's regularisation", 0, 0)
        judge = judge.settled(as_tensor(found.of(MODEL_DEFAULT)))
    items: dict[str, dict[str, Floats]] = {}  # by measure, then by title
    broken: list[str] = []
    for done, title in enumerate(found.titles):
        yield Progress("scoring layers", done, len(found.titles))
        vectors = found.of(title)
        if not np.isfinite(vectors).all():
            broken.append(title)
            vectors = np.zeros_like(vectors)  # its items are missing, below
        missing = np.full(len(judge), np.nan)
        for name, each in judge.by_measure(as_tensor(vectors)).items():
            items.setdefault(name, {})[title] = missing if title in broken else each
    grid = tuple(Reading(row, pooling) for row in encoder.rows for pooling in encoder.poolings)
    tables = {name: _items(encoder, grid, outside, each) for name, each in items.items()}
    main, *others = (one for one in tables.items() if one[0] not in DETAILS)
    scores = ItemScores(
        rows=encoder.rows,
        cosines=main[1].grid,
        own=main[1].own,
        own_title=encoder.head.describe() if encoder.head else "",
        gold=np.zeros(len(judge)),
        parts=("",) * len(judge),
        precision=encoder.precision,
        device=encoder.device,
        device_name=hardware.device_name(encoder.device),
        max_length=encoder.limit(max_length),
        truncated=found.truncated,
        sentences=len(judge.texts),
        seconds=time.perf_counter() - started,
        poolings=encoder.poolings,
        also=main[1].also,
        measure=main[0],
        others=dict(others),
        details={name: tables[name] for name in DETAILS if name in tables},
        in_windows=judge.in_windows,
    )
    titled = {reading.title: reading for reading in (*grid, OWN, *outside)}
    return replace(scores, not_finite=tuple(titled[title] for title in broken))


def _items(
    encoder: Encoder, grid: Sequence[Reading], outside: Sequence[Reading], by_title: Mapping[str, Floats]
) -> ItemGrid:
    """The numbers by title, in the order of the grid."""
    cells = np.stack([by_title[reading.title] for reading in grid])
    return ItemGrid(
        cells.reshape(len(encoder.rows), len(encoder.poolings), -1),
        by_title[MODEL_DEFAULT] if encoder.head else None,
        {one: by_title[one.title] for one in outside},
    )


def key(
    model: str,
    given: str,
    main: str,
    device: str,
    max_length: int | None,
    poolings: Sequence[str],
    windows: bool = False,
) -> str:
    """The key of a measurement: the digests of model and set, the main measure, every setting, and the poolings."""
    read = ("windows",) if windows else ()
    return digest_of(("item scores", VERSION, model, given, main, device, str(max_length), *poolings, *read))


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
    notes |= {"rows": [row.layers for row in scores.rows], "poolings": scores.poolings}
    notes |= {"in_windows": scores.in_windows, "device_name": scores.device_name}
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
            others=dict(zip(notes["measures"][1:], tables[1:], strict=False)),
            details=dict(zip(notes["details"], details, strict=True)),
            in_windows=notes.get("in_windows", 0),
            device_name=notes.get("device_name", ""),
            **{note: notes[note] for note in _PLAIN},
        )
    except (OSError, EOFError, ValueError, KeyError, IndexError, TypeError, zipfile.BadZipFile):
        return None


def _path(name: str) -> Path:
    return cache_folder() / "item scores" / f"{name}.npz"
