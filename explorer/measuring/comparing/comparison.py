"""Differences between two encoders on the same pairs, with paired bootstrap intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from explorer.encoding.read.readings import OWN, Reading, Row
from explorer.errors import BadChoice
from explorer.measuring.comparing.cosines_by_grade import GoldBins, gold_bins
from explorer.measuring.comparing.rank_errors import RankErrors, rank_errors
from explorer.measuring.scores.bootstrap import RESAMPLES, Interval, difference
from explorer.measuring.scores.layer_scores import LayerScores
from explorer.measuring.scores.pair_cosines import Cosines

OTHER_DEPTH = "A has {} layers and B {}: cell by cell they cannot be compared."
OTHER_POOLINGS = (
    "The grid of A has {}, and that of B {}, since one of them is a decoder: cell by cell they cannot be compared."
)


@dataclass(frozen=True, eq=False)
class Differences:
    """B minus A: for the chosen layer & pooling of each, for every common cell, and for the model defaults."""

    chosen: Interval
    grid: Interval | None
    own: Interval | None


@dataclass(frozen=True, eq=False)
class Comparison:
    """Scores of A and B on the same pairs, each with its chosen layer & pooling."""

    one: LayerScores
    other: LayerScores
    one_reading: Reading
    other_reading: Reading

    def __post_init__(self) -> None:
        same = len(self.one.gold) == len(self.other.gold) and np.array_equal(self.one.gold, self.other.gold)
        if not same:
            raise BadChoice("A and B were scored on different pairs. Score both on the same set.")

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
            sides = (", ".join(scores.poolings) for scores in (self.one, self.other))
            return OTHER_POOLINGS.format(*sides)
        return ""

    @property
    def told_not_measured(self) -> tuple[str, ...]:
        """A sentence for each side with cells that its precision cannot measure."""
        sides = zip("AB", (self.one.told_not_measured, self.other.told_not_measured), strict=True)
        return tuple(f"{side}: {told}" for side, told in sides if told)

    @property
    def chosen_not_measured(self) -> tuple[str, ...]:
        """The same for the two chosen cells: without their cosines no pair has a rank."""
        sides = ("A", self.one, self.one_reading), ("B", self.other, self.other_reading)
        return tuple(
            f"{side}: {reading.title} is {scores.why_not_measured(reading)}."
            for side, scores, reading in sides
            if not scores.is_measured(reading)
        )

    def grid(
        self, metric: str = "Spearman", aggregate: str = "all", *, resamples: int = RESAMPLES, seed: int = 0
    ) -> Interval:
        """B minus A in every cell (row, pooling), with intervals."""
        if not self.rows:
            raise BadChoice(self.why_no_cells)
        return self._difference(
            self.one.grid_items(metric), self.other.grid_items(metric), metric, aggregate, resamples, seed
        )

    def chosen(
        self, metric: str = "Spearman", aggregate: str = "all", *, resamples: int = RESAMPLES, seed: int = 0
    ) -> Interval:
        """B minus A under the chosen layer & pooling of each."""
        one, other = self.one.items_of(self.one_reading, metric), self.other.items_of(self.other_reading, metric)
        return self._difference(one, other, metric, aggregate, resamples, seed)

    def own(
        self, metric: str = "Spearman", aggregate: str = "all", *, resamples: int = RESAMPLES, seed: int = 0
    ) -> Interval | None:
        """B minus A under the declared model defaults; None if one declares none."""
        one, other = self.one.own_items(metric), self.other.own_items(metric)
        if one is None or other is None:
            return None
        return self._difference(one, other, metric, aggregate, resamples, seed)

    def cells(
        self, metric: str = "Spearman", aggregate: str = "all", *, resamples: int = RESAMPLES, seed: int = 0
    ) -> tuple[Interval | None, Interval | None]:
        """The differences of the grid and of the model defaults, by the same resamples; None for what only one has."""
        own_one, own_other = self.one.own_items(metric), self.other.own_items(metric)
        if not self.rows or own_one is None or own_other is None:
            grid = self.grid(metric, aggregate, resamples=resamples, seed=seed) if self.rows else None
            return grid, self.own(metric, aggregate, resamples=resamples, seed=seed)
        shape = self.one.cosines.shape
        one, other = (
            np.concatenate([side.grid_items(metric).reshape(-1, shape[-1]), own[None]])
            for side, own in ((self.one, own_one), (self.other, own_other))
        )
        every = self._difference(one, other, metric, aggregate, resamples, seed)
        numbers = every.difference, every.low, every.high
        grid = Interval(*(side[:-1].reshape(shape[:-1]) for side in numbers))
        return grid, Interval(*(np.asarray(side[-1]) for side in numbers))

    def among(self, grid: Interval | None, own: Interval | None) -> Interval | None:
        """The chosen difference, if both use the same layer & pooling: it is among these already."""
        if self.one_reading != self.other_reading:
            return None
        if self.one_reading == OWN:
            return own
        at = self.one.place(self.one_reading)
        if grid is None or at is None:
            return None
        return Interval(*(np.asarray(side[at]) for side in (grid.difference, grid.low, grid.high)))

    def differences(
        self, metric: str = "Spearman", aggregate: str = "all", *, resamples: int = RESAMPLES, seed: int = 0
    ) -> Differences:
        """Compute all differences."""
        grid, own = self.cells(metric, aggregate, resamples=resamples, seed=seed)
        chosen = self.among(grid, own) or self.chosen(metric, aggregate, resamples=resamples, seed=seed)
        return Differences(chosen, grid, own)

    def rank_errors(self) -> RankErrors:
        """The rank errors of each pair, on both sides."""
        return rank_errors(self.one.gold, *self._sides())

    def gold_bins(self) -> GoldBins:
        """The cosines of both sides, grouped by gold score."""
        return gold_bins(self.one.gold, self._sides())

    def _sides(self) -> tuple[Cosines, Cosines]:
        """The cosines (pair) of both sides."""
        return self.one.cosines_of(self.one_reading), self.other.cosines_of(self.other_reading)

    def _difference(
        self, one: Cosines, other: Cosines, metric: str, aggregate: str, resamples: int, seed: int
    ) -> Interval:
        gold, parts, statistic = self.one.gold, self.one.parts, self.one.statistic(metric)
        return difference(gold, one, other, parts, statistic, aggregate, resamples=resamples, seed=seed)
