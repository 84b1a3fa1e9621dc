"""What changed from one encoder to another, on the same pairs, and how surely?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from explorer.encoding.readings import Reading, Row
from explorer.errors import BadChoice
from explorer.measuring.bootstrap import RESAMPLES, Interval, difference
from explorer.measuring.cosines import Cosines
from explorer.measuring.rank_errors import RankErrors, rank_errors
from explorer.measuring.scores import LayerScores


@dataclass(frozen=True, eq=False)
class Differences:
    """B less A: of the chosen readings, of every cell that both have, and of the readings that both declare."""

    chosen: Interval
    grid: Interval | None
    own: Interval | None


@dataclass(frozen=True, eq=False)
class Comparison:
    """Scores of A and of B on the same pairs, each with the reading that stands for a sentence."""

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
        """The rows of the grid that both have; none where one is deeper, as layer 3 of 6 is not layer 3 of 12."""
        return self.one.rows if self.one.rows == self.other.rows else ()

    def grid(
        self, metric: str = "Spearman", aggregate: str = "all", *, resamples: int = RESAMPLES, seed: int = 0
    ) -> Interval:
        """B less A in every cell (row, pooling), and how sure that is."""
        if not self.rows:
            raise BadChoice(f"A has {self.one.last} layers and B {self.other.last}: their cells are not the same.")
        return self._difference(self.one.cosines, self.other.cosines, metric, aggregate, resamples, seed)

    def chosen(
        self, metric: str = "Spearman", aggregate: str = "all", *, resamples: int = RESAMPLES, seed: int = 0
    ) -> Interval:
        """B's reading less A's."""
        sides = self.one.cosines_of(self.one_reading), self.other.cosines_of(self.other_reading)
        return self._difference(*sides, metric, aggregate, resamples, seed)

    def own(
        self, metric: str = "Spearman", aggregate: str = "all", *, resamples: int = RESAMPLES, seed: int = 0
    ) -> Interval | None:
        """B's own reading less A's; None where one of them declares none."""
        if self.one.own is None or self.other.own is None:
            return None
        return self._difference(self.one.own, self.other.own, metric, aggregate, resamples, seed)

    def differences(
        self, metric: str = "Spearman", aggregate: str = "all", *, resamples: int = RESAMPLES, seed: int = 0
    ) -> Differences:
        """All there are."""
        return Differences(
            self.chosen(metric, aggregate, resamples=resamples, seed=seed),
            self.grid(metric, aggregate, resamples=resamples, seed=seed) if self.rows else None,
            self.own(metric, aggregate, resamples=resamples, seed=seed),
        )

    def rank_errors(self) -> RankErrors:
        """How far from its place each pair is, in either reading."""
        sides = self.one.cosines_of(self.one_reading), self.other.cosines_of(self.other_reading)
        return rank_errors(self.one.gold, *sides)

    def _difference(
        self, one: Cosines, other: Cosines, metric: str, aggregate: str, resamples: int, seed: int
    ) -> Interval:
        gold, parts = self.one.gold, self.one.parts
        return difference(gold, one, other, parts, metric, aggregate, resamples=resamples, seed=seed)
