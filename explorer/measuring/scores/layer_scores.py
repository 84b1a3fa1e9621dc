"""Score every layer & pooling of an encoder on an evaluation set."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explorer import escaping, in_words
from explorer.data.text_sets import GradedPairs
from explorer.encoding.load import hardware
from explorer.encoding.read.pooling import OWN, Reading
from explorer.in_words import rounded
from explorer.measuring.scores import metrics
from explorer.measuring.scores.correlation import SAME, SAME_VECTOR, measured
from explorer.measuring.scores.metrics import AGGREGATES, MEAN, agreement, metrics_of
from explorer.measuring.scores.pair_cosines import Cosines, GridCosines, pair_cosines
from explorer.progress import Work

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder

NO_SCORE = "n/a"  # in the place of a score
NO_SCORES = "No layer & pooling has a score: {}."
NO_CORRELATION = "no {}: {} has no correlation ({})"
# scores × 100 that differ by less are of the same layer & pooling, computed twice
ROUNDING = 0.01
# the names of columns on pages, where values have another one
_TITLES = {
    "reading": "layer & pooling",
    "reading A": "layer & pooling A",
    "reading B": "layer & pooling B",
    "sure": "significant",
}


@dataclass(frozen=True, eq=False, kw_only=True)
class LayerScores(GridCosines):
    """The scores of every layer & pooling, of cosines and gold scores."""

    gold: NDArray[np.float64]
    parts: tuple[str, ...]
    _known: dict[tuple[str, ...], NDArray[np.float64]] = field(default_factory=dict, init=False, repr=False)

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that the set has; the first is the main one."""
        return metrics_of(self.gold)

    def statistic(self, metric: str) -> str:
        """What a metric computes from the items of `grid_items`: itself, or the mean of what items get."""
        return metric

    def grid_items(self, metric: str) -> Cosines:
        """What a metric is computed from (row, pooling, item): of scored pairs the cosines."""
        return self.cosines

    def own_items(self, metric: str) -> Cosines | None:
        """What a metric is computed from under the model default (item), if one is declared."""
        return self.own

    def items_of(self, reading: Reading, metric: str) -> Cosines:
        """What a metric is computed from under one layer & pooling (item)."""
        return self.cosines_of(reading)

    def details_of(self, reading: Reading) -> Mapping[str, NDArray[np.float64]]:
        """What else there is to tell of each item under one layer & pooling; nothing of scored pairs."""
        return {}

    @cached_property
    def has_parts(self) -> bool:
        """Whether the set is made of several sub-corpora."""
        return len(set(self.parts)) > 1

    @cached_property
    def silent_parts(self) -> tuple[str, ...]:
        """Sub-corpora without a correlation: too few pairs, or equal gold scores."""
        names = np.array(self.parts)
        return tuple(name for name in dict.fromkeys(self.parts) if metrics.why_no_score(self.gold[names == name]))

    def table(self, metric: str = "Spearman", aggregate: str = "all") -> NDArray[np.float64]:
        """Scores × 100 as (row, pooling); NaN if the cosines are constant or not measurable."""
        return self._agreement("grid", self.grid_items(metric), metric, aggregate)

    def own_score(self, metric: str = "Spearman", aggregate: str = "all") -> float | None:
        """The score × 100 of the model default, if one is declared."""
        own = self.own_items(metric)
        return None if own is None else float(self._agreement("own", own, metric, aggregate))

    def _agreement(self, what: str, cosines: Cosines, metric: str, aggregate: str) -> NDArray[np.float64]:
        key = (what, metric, aggregate)
        if key not in self._known:
            statistic = self.statistic(metric)
            self._known[key] = 100 * agreement(self.gold, cosines, self.parts, statistic, aggregate)
        return self._known[key]

    def score(self, reading: Reading, metric: str = "Spearman", aggregate: str = "all") -> float:
        """The score × 100 of one layer & pooling."""
        if reading == OWN:
            own = self.own_score(metric, aggregate)
            return float("nan") if own is None else own
        cell = self.place(reading)
        if cell is None:
            return float(self._agreement(reading.title, self.items_of(reading, metric), metric, aggregate))
        return float(self.table(metric, aggregate)[cell])

    def of_pairs(self, rows: Sequence[int]) -> LayerScores:
        """The scores on some of the pairs, such as a half of them, without encoding again.

        The settings (sentences, truncated sentences, seconds) remain those of all pairs.
        """
        at = np.asarray(rows, dtype=np.intp)
        own = None if self.own is None else self.own[at]
        parts = tuple(self.parts[row] for row in at)
        also = {one: cosines[at] for one, cosines in self.also.items()}
        return replace(self, cosines=self.cosines[..., at], own=own, also=also, gold=self.gold[at], parts=parts)

    def has_any(self, metric: str = "Spearman", aggregate: str = "all") -> bool:
        """Whether any layer & pooling of the grid, or the model default, has a score."""
        own = self.own_score(metric, aggregate)
        return bool(np.isfinite(self.table(metric, aggregate)).any()) or (own is not None and math.isfinite(own))

    def best(self, metric: str = "Spearman", aggregate: str = "all") -> Reading | None:
        """The layer & pooling with the highest score: optimistic, since it is chosen on the same pairs."""
        table = self.table(metric, aggregate)
        if np.isnan(table).all():
            return None
        row, column = np.unravel_index(np.nanargmax(table), table.shape)
        return Reading(self.rows[row], self.poolings[column])

    def best_of_all(self, metric: str = "Spearman", aggregate: str = "all") -> Reading | None:
        """The same of the grid and the model default, where that is higher than all of the grid."""
        own, best = self.own_score(metric, aggregate), self.best(metric, aggregate)
        highest = -math.inf if best is None else self.score(best, metric, aggregate)
        return OWN if own is not None and own > highest + ROUNDING else best

    def ties(self, best: Reading, metric: str = "Spearman", aggregate: str = "all") -> tuple[Reading, ...]:
        """The other layers & poolings of the grid with the score of the best as it is shown, highest first."""
        scores = dict(zip(self.grid, self.table(metric, aggregate).ravel().tolist(), strict=True))
        shown = text_of(self.score(best, metric, aggregate))
        equal = [one for one, score in scores.items() if one != best and text_of(score) == shown]
        return tuple(sorted(equal, key=scores.__getitem__, reverse=True))


def text_of(score: float) -> str:
    """A score with two digits; a missing one is `n/a`, never 0."""
    return in_words.number(score) if math.isfinite(score) else NO_SCORE


def tied_text(ties: Sequence[Reading]) -> str:
    """What follows the name of the best one if others have its score: `, tied with max of layer 6 and 2 more`."""
    if not ties:
        return ""
    return f", tied with {ties[0].title}" + f" and {len(ties) - 1} more" * (len(ties) > 1)


def score_layers(
    encoder: Encoder, pairs: GradedPairs, max_length: int | None = None, also: Sequence[Reading] = ()
) -> Work[LayerScores]:
    """Encode every sentence once and compute the cosine of every pair under every layer & pooling of the grid, and
    under those of `also`.

    Only cosines are kept: the vectors of a chunk of pairs are dropped before the next chunk.
    """
    started = time.perf_counter()
    tokens = yield from encoder.tokenised(pairs.sentences, max_length)
    cosines, of_each = yield from pair_cosines(encoder, pairs, tokens.ids, also)
    exact = LayerScores(
        rows=encoder.rows,
        cosines=cosines,
        own=of_each.pop(OWN, None),
        own_title=encoder.head.describe() if encoder.head else "",
        gold=np.array(pairs.gold, dtype=np.float64),
        parts=pairs.parts,
        precision=encoder.precision,
        device=encoder.device,
        device_name=hardware.device_name(encoder.device),
        max_length=encoder.limit(max_length),
        truncated=tokens.truncated,
        sentences=len(pairs.sentences),
        seconds=time.perf_counter() - started,
        poolings=encoder.poolings,
        also=of_each,
    )
    return replace(
        exact,
        cosines=measured(cosines, encoder.precision),
        own=None if exact.own is None else measured(exact.own, encoder.precision),
        also={one: measured(each, encoder.precision) for one, each in of_each.items()},
        not_finite=exact.not_measured,
    )


def why_missing(scores: LayerScores, reading: Reading, metric: str = "", aggregate: str = "all") -> str:
    """The reason why a layer & pooling has no score, by default by the main metric; "" if it has one."""
    if not np.isnan(scores.score(reading, metric or scores.metrics[0], aggregate)):
        return ""
    if not scores.is_measured(reading):
        return scores.why_not_measured(reading)
    if why := why_none(scores, metric):
        return why
    cosines = scores.cosines_of(reading)
    if np.ptp(cosines) <= SAME:
        if reading.pooling == "cls" and reading.row.layers == (0,) and cosines.min() > 1 - SAME_VECTOR:
            return "every [CLS] of layer 0 is the same vector"
        return "all cosines are equal"
    names = np.array(scores.parts)
    for name in dict.fromkeys(scores.parts):
        inside = names == name
        why = metrics.no_score_in_words(metrics.why_no_score(scores.gold[inside]), int(inside.sum()))
        if why or np.ptp(cosines[inside]) <= SAME:
            return NO_CORRELATION.format(aggregate, name, why or "all its cosines are equal")
    return f"no {metric or scores.metrics[0]}"


def why_none(scores: LayerScores, metric: str = "") -> str:
    """The reason why no layer & pooling has a score, by default by the main metric; "" if they can have one."""
    metric = metric or scores.metrics[0]
    if scores.statistic(metric) == MEAN:  # gold scores have no part in it
        return ""
    return metrics.no_score_in_words(metrics.why_no_score(scores.gold, metric), len(scores.gold))


def score_rows(scores: LayerScores) -> list[dict[str, object]]:
    """A row for every layer & pooling, with every metric × 100; None without a correlation."""
    aggregates = AGGREGATES if scores.has_parts else AGGREGATES[:1]
    measures = {metrics.name_of(metric, way): (metric, way) for metric in scores.metrics for way in aggregates}

    def numbers(reading: Reading) -> dict[str, object]:
        return {name: rounded(scores.score(reading, *way)) for name, way in measures.items()}

    rows: list[dict[str, object]] = [
        {"reading": one.title, "layer": one.row.label, "pooling": one.pooling, **numbers(one)}
        for one in (*scores.grid, *scores.also)
    ]
    if scores.own is not None:
        rows.append({"reading": OWN.title, "layer": "", "pooling": scores.own_title, **numbers(OWN)})
    return rows


def for_people(rows: Sequence[Mapping[str, object]]) -> list[dict[str, object]]:
    """Rows as tables on pages and in files show them: columns by their names on pages, and yes or no in words."""
    words = {True: "yes", False: "no"}
    return [
        {_TITLES.get(name, name): words[value] if isinstance(value, bool) else value for name, value in row.items()}
        for row in rows
    ]


def as_csv(rows: Sequence[Mapping[str, object]]) -> str:
    """Rows as CSV with a header; a missing number is an empty cell, and no text is a formula."""
    shown = for_people(rows)
    return escaping.csv_text([[*shown[0]], *([row.get(name, "") for name in shown[0]] for row in shown)])
