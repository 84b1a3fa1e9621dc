"""Overlap of nearest neighbours between A and B: kept, lost and gained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.errors import BadChoice
from explorer.measuring.neighbours.vector_index import Index
from explorer.progress import Progress, Work

COMPARED = 10  # neighbours that a map compares


@dataclass(frozen=True, eq=False)
class Overlap:
    """The number of common k nearest neighbours of each sentence in A and B."""

    kept: NDArray[np.intp]
    k: int  # less than requested if the corpus is smaller

    @cached_property
    def jaccard(self) -> NDArray[np.float64]:
        """Jaccard index of each sentence: neighbours in both divided by neighbours in either; NaN without any."""
        if not self.k:
            return np.full(len(self.kept), np.nan)
        return self.kept / (2 * self.k - self.kept)

    @property
    def mean(self) -> float:
        """The mean over all sentences; NaN if none has a neighbour."""
        return float(self.jaccard.mean()) if self.k and len(self.kept) else float("nan")

    def counts(self) -> NDArray[np.intp]:
        """The number of sentences that kept 0, 1, … k neighbours."""
        return np.bincount(self.kept, minlength=self.k + 1)

    def order(self, *, most_changed: bool) -> NDArray[np.intp]:
        """All sentences, most or least changed first; ties in the order of the corpus."""
        return np.argsort(self.kept if most_changed else -self.kept, kind="stable")


@dataclass(frozen=True)
class Exchange:
    """Neighbours of one sentence, or results of one query: in both, in A only and in B only; nearest first."""

    kept: tuple[int, ...]
    lost: tuple[int, ...]
    gained: tuple[int, ...]

    @property
    def jaccard(self) -> float:
        """Jaccard index: those in both divided by those in either; NaN without any."""
        either = len(self.kept) + len(self.lost) + len(self.gained)
        return len(self.kept) / either if either else float("nan")


def exchange(one: Sequence[int], other: Sequence[int]) -> Exchange:
    """Mark each result of A as kept or lost."""
    before, after = set(one), set(other)
    return Exchange(
        kept=tuple(place for place in one if place in after),
        lost=tuple(place for place in one if place not in after),
        gained=tuple(place for place in other if place not in before),
    )


def overlap(one: Index, other: Index, k: int) -> Work[Overlap]:
    """Use every sentence as a query, itself excluded, and count common neighbours."""
    if len(one) != len(other):
        raise BadChoice(f"A holds {len(one):,} sentences and B {len(other):,}. Use the same corpus for both.")
    kept, done = [], 0
    yield Progress("finding neighbours", 0, len(one))
    for (in_one, _), (in_other, _) in zip(one.neighbours_of_all(k), other.neighbours_of_all(k), strict=True):
        kept.append(overlap_of(in_one, in_other).kept)
        done += len(in_one)
        yield Progress("finding neighbours", done, len(one))
    return Overlap(np.concatenate(kept), max(0, min(k, len(one) - 1)))


def overlap_of(one: NDArray[Any], other: NDArray[Any]) -> Overlap:
    """Compute the overlap of given neighbours (sentence, neighbour)."""
    both = np.sort(np.concatenate([one, other], axis=1), axis=1)  # common neighbours are in it twice
    return Overlap((both[:, 1:] == both[:, :-1]).sum(1), one.shape[1])
