"""Compare two encoders on the same pairs: differences with paired bootstrap intervals, also as rows of tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from explorer import in_words
from explorer.data.text_sets import GradedPairs
from explorer.encoding.read.pooling import OWN, Reading, Row
from explorer.errors import BadChoice
from explorer.in_words import Rows, rounded
from explorer.measuring.comparing.gold_bins import GoldBins, gold_bins
from explorer.measuring.comparing.pair_changes import RankErrors, rank_errors
from explorer.measuring.scores.bootstrap import RESAMPLES, Interval, difference
from explorer.measuring.scores.judge import Floats
from explorer.measuring.scores.layer_scores import LayerScores

OTHER_DEPTH = "A has {} layers and B {}: cell by cell they cannot be compared."
OTHER_POOLINGS = (
    "The grid of A has {}, and that of B {}, since one of them is a decoder: cell by cell they cannot be compared."
)
READING, SIGNIFICANT = "layer & pooling", "significant"  # columns: a cell, and whether its interval excludes 0


@dataclass(frozen=True, eq=False)
class Differences:
    """B minus A: for the chosen layer & pooling of each, for every common cell, and for the model defaults."""

    chosen: Interval
    grid: Interval | None
    own: Interval | None

    @property
    def without_intervals(self) -> Differences:
        """The same on a set that chose one of the models, or trained it: an interval would read as evidence."""
        sides = (self.chosen, self.grid, self.own)
        chosen, grid, own = (one and Interval(one.difference, *[one.difference * math.nan] * 2) for one in sides)
        assert chosen is not None
        return Differences(chosen, grid, own)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Scores of A and B on the same pairs, each with its chosen layer & pooling."""

    one: LayerScores
    other: LayerScores
    one_reading: Reading
    other_reading: Reading
    seed: int = 0  # of the bootstrap, and its resamples
    resamples: int = RESAMPLES

    def __post_init__(self) -> None:
        same = len(self.one.gold) == len(self.other.gold) and np.array_equal(self.one.gold, self.other.gold)
        if not same:
            raise BadChoice("A and B were scored on different pairs. Score both on the same set.")

    @property
    def scores(self) -> tuple[LayerScores, LayerScores]:
        """Of A and of B."""
        return self.one, self.other

    @property
    def rows(self) -> tuple[Row, ...]:
        """The common rows of the grid; none if it has no common cells (`why_no_cells`)."""
        return () if self.why_no_cells else self.one.rows

    @property
    def why_no_cells(self) -> str:
        """The reason why the grids cannot be compared cell by cell; "" if they can.

        Layer 3 of 6 is not layer 3 of 12, and the last token of a decoder is not the first of an encoder.
        """
        if self.one.rows != self.other.rows:
            return OTHER_DEPTH.format(self.one.last, self.other.last)
        if self.one.poolings != self.other.poolings:
            sides = (", ".join(scores.poolings) for scores in self.scores)
            return OTHER_POOLINGS.format(*sides)
        return ""

    def grid(self, metric: str = "Spearman", aggregate: str = "all") -> Interval:
        """B minus A in every cell (row, pooling), with intervals."""
        if not self.rows:
            raise BadChoice(self.why_no_cells)
        one, other = self.one.grid_items(metric), self.other.grid_items(metric)
        return self._difference(one, other, metric, aggregate)

    def chosen(self, metric: str = "Spearman", aggregate: str = "all") -> Interval:
        """B minus A under the chosen layer & pooling of each."""
        one, other = self.one.items_of(self.one_reading, metric), self.other.items_of(self.other_reading, metric)
        return self._difference(one, other, metric, aggregate)

    def own(self, metric: str = "Spearman", aggregate: str = "all") -> Interval | None:
        """B minus A under the declared model defaults; None if one declares none."""
        one, other = self.one.own_items(metric), self.other.own_items(metric)
        if one is None or other is None:
            return None
        return self._difference(one, other, metric, aggregate)

    def cells(self, metric: str = "Spearman", aggregate: str = "all") -> tuple[Interval | None, Interval | None]:
        """The differences of the grid and of the model defaults, by the same resamples; None for what only one has."""
        grid = self.grid(metric, aggregate) if self.rows else None
        return grid, self.own(metric, aggregate)

    def among(self, grid: Interval | None, own: Interval | None) -> Interval | None:
        """The chosen difference, if both use the same layer & pooling: it is among these already."""
        if self.one_reading != self.other_reading:
            return None
        if self.one_reading == OWN:
            return own
        at = self.one.place(self.one_reading)
        return None if grid is None or at is None else grid.at(at)

    def differences(self, metric: str = "Spearman", aggregate: str = "all") -> Differences:
        """Compute all differences."""
        grid, own = self.cells(metric, aggregate)
        chosen = self.among(grid, own) or self.chosen(metric, aggregate)
        return Differences(chosen, grid, own)

    def rank_errors(self) -> RankErrors:
        """The rank errors of each pair, on both sides."""
        return rank_errors(self.one.gold, *self._sides())

    def gold_bins(self, pairs: GradedPairs) -> GoldBins:
        """The cosines of both sides, grouped by the gold scores of the pairs as their text has them."""
        return gold_bins(np.array(pairs.own_gold), self._sides())

    def _sides(self) -> tuple[Floats, Floats]:
        """The cosines (pair) of both sides."""
        return self.one.cosines_of(self.one_reading), self.other.cosines_of(self.other_reading)

    def _difference(self, one: Floats, other: Floats, metric: str, aggregate: str) -> Interval:
        about = self.one.parts, self.one.statistic(metric), aggregate
        return difference(self.one.gold, one, other, *about, resamples=self.resamples, seed=self.seed)


def default_reading(scores: LayerScores) -> Reading:
    """The model default: what the model declares, else the mean of its last layer."""
    return OWN if scores.own is not None else Reading(Row((scores.last,)), "mean")


def as_used(comparison: Comparison) -> Comparison:
    """The comparison of the same two models, each under its model default."""
    one, other = map(default_reading, comparison.scores)
    if (one, other) == (comparison.one_reading, comparison.other_reading):
        return comparison
    return replace(comparison, one_reading=one, other_reading=other)


def not_measured(comparison: Comparison) -> tuple[str, ...]:
    """A sentence for each side with cells that its precision cannot measure."""
    sides = zip("AB", (comparison.one.not_measured_text, comparison.other.not_measured_text), strict=True)
    return tuple(f"{side}: {text}" for side, text in sides if text)


def chosen_not_measured(comparison: Comparison) -> tuple[str, ...]:
    """A sentence for each chosen cell that its precision cannot measure: without cosines no pair has a rank."""
    sides = ("A", comparison.one, comparison.one_reading), ("B", comparison.other, comparison.other_reading)
    return tuple(
        f"{side}: {reading.title} is {scores.why_not_measured(reading)}."
        for side, scores, reading in sides
        if not scores.is_measured(reading)
    )


def shown_cells(comparison: Comparison, metric: str = "Spearman", aggregate: str = "all") -> Floats:
    """The differences of the grid (row, pooling), of the scores of both as they are shown."""
    one, other = (scores.table(metric, aggregate).ravel().tolist() for scores in comparison.scores)
    return np.reshape([in_words.gap(*sides) for sides in zip(one, other, strict=True)], (len(comparison.rows), -1))


def shown_own(comparison: Comparison, metric: str = "Spearman", aggregate: str = "all") -> float:
    """The difference under the model defaults, of the scores of both as they are shown; NaN if one has none."""
    one, other = (scores.score(OWN, metric, aggregate) for scores in comparison.scores)
    return in_words.gap(one, other)


def cell_rows(comparison: Comparison, differences: Differences, metric: str, aggregate: str) -> Rows:
    """A row for every common cell, and for the model defaults if both declare one."""
    one, other = (scores.table(metric, aggregate) for scores in comparison.scores)
    rows: Rows = []
    if differences.grid is not None:
        rows += [
            {
                READING: Reading(row, pooling).title,
                **difference_row((one[place, column], other[place, column]), differences.grid, (place, column)),
            }
            for place, row in enumerate(comparison.rows)
            for column, pooling in enumerate(comparison.one.poolings)
        ]
    if differences.own is not None:
        sides = [scores.score(OWN, metric, aggregate) for scores in comparison.scores]
        rows.append({READING: OWN.title, **difference_row(sides, differences.own, ())})
    return rows


def shown_rows(rows: Rows) -> Rows:
    """Rows of cells for people: the difference is that of both scores as they are shown with two digits."""
    return [row | {"difference": _gap(row["A"], row["B"], 2)} for row in rows]


def _gap(one: object, other: object, digits: int = 4) -> float | None:
    """The difference of two cells of a table, by their digits; None if one of them is missing."""
    if not isinstance(one, float) or not isinstance(other, float):
        return None
    return in_words.gap(one, other, digits=digits)


def most_changed(rows: Rows, count: int = 3) -> tuple[Rows, Rows]:
    """The rows that gained most and those that lost most: certain changes first, then by size."""
    known = [(row, number) for row in rows if isinstance(number := row["difference"], float)]

    def first(direction: int) -> Rows:
        there = [(not row[SIGNIFICANT], -direction * number, row) for row, number in known if direction * number > 0]
        return [row for *_, row in sorted(there, key=lambda one: one[:2])[:count]]

    return first(1), first(-1)


def chosen_row(comparison: Comparison, chosen: Interval, metric: str, aggregate: str) -> dict[str, object]:
    """The row of the chosen layer & pooling of each side."""
    return {
        f"{READING} A": comparison.one_reading.title,
        f"{READING} B": comparison.other_reading.title,
        **difference_row(chosen_scores(comparison, metric, aggregate), chosen, ()),
    }


def chosen_scores(comparison: Comparison, metric: str, aggregate: str) -> tuple[float, float]:
    """The scores of A and B under the chosen layer & pooling of each."""
    sides = (comparison.one, comparison.one_reading), (comparison.other, comparison.other_reading)
    one, other = (scores.score(reading, metric, aggregate) for scores, reading in sides)
    return one, other


def difference_row(scores: Sequence[float], interval: Interval, at: tuple[int, ...]) -> dict[str, object]:
    """Both scores, their difference and its interval as cells of a table, which add up as they stand there."""
    one, other = map(rounded, scores)
    difference, low, high = _gap(one, other), rounded(interval.low[at]), rounded(interval.high[at])
    sure = None if difference is None or low is None else bool(interval.sure[at])
    return {"A": one, "B": other, "difference": difference, "low": low, "high": high, SIGNIFICANT: sure}
