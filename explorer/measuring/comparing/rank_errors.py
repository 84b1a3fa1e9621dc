"""Rank errors: pairs whose rank by cosine is far from their rank by gold score, and what changed between models.

A pair's rank error is the distance between its rank by cosine and its rank by gold score, as a share of all ranks: 0 is
the same rank, 1 the opposite end. Lower is better.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.measuring.scores.correlation import ranks

Floats = NDArray[np.float64]

FAR = 0.25  # of all ranks: a pair with a larger rank error is in the wrong place
FIXED, BROKEN, STILL_WRONG = "improved", "got worse", "still wrong"
KINDS = (FIXED, BROKEN, STILL_WRONG)


@dataclass(frozen=True, eq=False)
class RankErrors:
    """The rank errors (pair) of two models on the same pairs."""

    one: Floats
    other: Floats

    @property
    def change(self) -> Floats:
        """The decrease of a pair's rank error from the one model to the other."""
        return np.asarray(self.one - self.other)

    def places(self, kind: str, far: float = FAR) -> NDArray[np.intp]:
        """The pairs of a kind, largest change or largest error first."""
        was, is_now = self.one > far, self.other > far
        if kind == STILL_WRONG:
            return _descending(np.minimum(self.one, self.other), was & is_now)
        if kind == FIXED:
            return _descending(
                self.change, was & (self.other <= far)
            )  # not `~is_now`: a missing error belongs to no kind
        return _descending(-self.change, (self.one <= far) & is_now)

    def examples(self) -> tuple[int | None, int | None, int | None]:
        """The pair whose rank error fell most, the one whose error rose most, and one that did not change.

        The last is the pair with the smallest change, and among several the one with the largest error. None if no pair
        is of that kind.
        """
        change = np.where(np.isfinite(self.change), self.change, 0.0)
        if not len(change) or not np.isfinite(self.change).any():
            return None, None, None
        best, worst = int(change.argmax()), int(change.argmin())
        still = np.lexsort((-np.maximum(self.one, self.other), np.abs(np.round(change, 12))))
        same = next((int(place) for place in still if place not in (best, worst)), None)
        return best if change[best] > 0 else None, worst if change[worst] < 0 else None, same


def rank_errors(gold: Floats, one: NDArray[Any], other: NDArray[Any]) -> RankErrors:
    """Compute the rank errors of two models from their cosines (pair)."""
    return RankErrors(*(errors(gold, side) for side in (one, other)))


def errors(gold: Floats, cosines: NDArray[Any]) -> Floats:
    """The rank error of each pair; NaN if cosines are missing."""
    if np.isnan(cosines).any():
        return np.full(len(gold), np.nan)
    return np.asarray(np.abs(ranks(cosines) - ranks(gold)) / max(1, len(gold) - 1))


def _descending(by: Floats, inside: NDArray[np.bool_]) -> NDArray[np.intp]:
    places = np.flatnonzero(inside)
    return places[np.argsort(-by[places], kind="stable")]
