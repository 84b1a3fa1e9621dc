"""Compare two models item by item: which queries, triplets or rows improved and which got worse, with their ranks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from explorer.measuring.table_cells import Rows, rounded

Floats = NDArray[np.float64]

SAME = 1e-9  # scores that differ by less are equal
NOT_FOUND = "> 100"  # of a rank: the right answer is not among the first hundred


@dataclass(frozen=True, eq=False)
class ItemChanges:
    """What each item gets, from 0 to 1, before and after, with the rank and the cosine of its right answer, if any."""

    texts: Mapping[str, Sequence[str]]  # by heading: the query and a passage, and so on
    before: Floats
    after: Floats
    ranks: tuple[Floats, Floats] | None = None
    cosines: tuple[Floats, Floats] | None = None

    @cached_property
    def gaps(self) -> Floats:
        """After - before of each item."""
        return self.after - self.before

    @cached_property
    def _climbs(self) -> Floats:
        """By how many ranks each item rose; an answer that is not found counts as rank 101."""
        if self.ranks is None:
            return np.zeros(len(self.gaps))
        before, after = (np.where(np.isnan(side), 101.0, side) for side in self.ranks)
        return np.asarray(before - after)

    @property
    def counts(self) -> tuple[int, int, int]:
        """How many items improved, got worse, and stayed the same."""
        better, worse = len(self.changed(improved=True)), len(self.changed(improved=False))
        return better, worse, len(self.gaps) - better - worse

    def changed(self, *, improved: bool) -> list[int]:
        """The items that improved or got worse, the most changed first; of equal changes that of more ranks.

        An item whose score is the same changed if its rank did, such as from 60 to 20 under nDCG@10.
        """
        sign = 1 if improved else -1
        gaps, climbs = sign * self.gaps, sign * self._climbs
        order = np.lexsort((-climbs, -gaps))
        return [int(item) for item in order if gaps[item] > SAME or (abs(gaps[item]) <= SAME and climbs[item] > 0)]

    def told_ranks(self, item: int) -> str:
        """`rank 7 → 1`; "" if items are not ranked."""
        if self.ranks is None:
            return ""
        return f"rank {' → '.join(_told(side[item]) for side in self.ranks)}"

    def told_cosines(self, item: int) -> str:
        """`cosine 0.612 → 0.874`; "" if there are none."""
        if self.cosines is None:
            return ""
        return f"cosine {' → '.join(f'{side[item]:.3f}' for side in self.cosines)}"

    def rows(self, measure: str) -> Rows:
        """A row for each item: first those that improved, most first, then the unchanged, then those that got worse."""
        better, worse = self.changed(improved=True), self.changed(improved=False)
        between = sorted(set(range(len(self.gaps))) - {*better, *worse})
        return [self._row(item, measure) for item in (*better, *between, *reversed(worse))]

    def _row(self, item: int, measure: str) -> dict[str, object]:
        row: dict[str, object] = {heading: cells[item] for heading, cells in self.texts.items()}
        if self.ranks is not None:
            row |= {
                name: None if math.isnan(side[item]) else int(side[item])
                for name, side in zip(("rank before", "rank after"), self.ranks, strict=True)
            }
        if self.cosines is not None:
            cosines = zip(("cosine before", "cosine after"), self.cosines, strict=True)
            row |= {name: rounded(side[item], 3) for name, side in cosines}
        return row | {
            f"{measure} before": rounded(100 * self.before[item], 2),
            f"{measure} after": rounded(100 * self.after[item], 2),
        }


def _told(rank: float) -> str:
    return NOT_FOUND if math.isnan(rank) else f"{rank:.0f}"
