"""Which neighbours did sentences keep from A to B, which did they gain, which did they lose?"""

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

COMPARED = 10  # neighbours by which a map compares A and B


@dataclass(frozen=True, eq=False)
class Overlap:
    """How many of its k nearest neighbours each sentence of a corpus has in A and in B."""

    kept: NDArray[np.intp]
    k: int  # less than was asked for where the corpus is smaller

    @cached_property
    def jaccard(self) -> NDArray[np.float64]:
        """Of each sentence: neighbours in both by neighbours in either; NaN where there are no neighbours."""
        if not self.k:
            return np.full(len(self.kept), np.nan)
        return self.kept / (2 * self.k - self.kept)

    @property
    def mean(self) -> float:
        """Over all sentences; NaN where there is none with a neighbour."""
        return float(self.jaccard.mean()) if self.k and len(self.kept) else float("nan")

    def counts(self) -> NDArray[np.intp]:
        """How many sentences kept 0, 1, … k neighbours."""
        return np.bincount(self.kept, minlength=self.k + 1)

    def order(self, *, most_changed: bool) -> NDArray[np.intp]:
        """All sentences, the most or the least changed first; equals in the order of the corpus."""
        return np.argsort(self.kept if most_changed else -self.kept, kind="stable")


@dataclass(frozen=True)
class Exchange:
    """Neighbours of one sentence, or results of one query: in both, in A only and in B only; nearest first."""

    kept: tuple[int, ...]
    lost: tuple[int, ...]
    gained: tuple[int, ...]

    @property
    def jaccard(self) -> float:
        """Those in both by those in either; NaN where there are none."""
        either = len(self.kept) + len(self.lost) + len(self.gained)
        return len(self.kept) / either if either else float("nan")


def exchange(one: Sequence[int], other: Sequence[int]) -> Exchange:
    """What became of what A has."""
    before, after = set(one), set(other)
    return Exchange(
        kept=tuple(place for place in one if place in after),
        lost=tuple(place for place in one if place not in after),
        gained=tuple(place for place in other if place not in before),
    )


def overlap(one: Index, other: Index, k: int) -> Work[Overlap]:
    """Every sentence as a query, itself left out; only the counts are held."""
    if len(one) != len(other):
        raise BadChoice(f"A holds {len(one):,} sentences and B {len(other):,}. Index the same corpus on both sides.")
    kept, done = [], 0
    yield Progress("finding neighbours", 0, len(one))
    for (in_one, _), (in_other, _) in zip(one.neighbours_of_all(k), other.neighbours_of_all(k), strict=True):
        kept.append(overlap_of(in_one, in_other).kept)
        done += len(in_one)
        yield Progress("finding neighbours", done, len(one))
    return Overlap(np.concatenate(kept), max(0, min(k, len(one) - 1)))


def overlap_of(one: NDArray[Any], other: NDArray[Any]) -> Overlap:
    """Of neighbours (sentence, neighbour) that are known."""
    both = np.sort(np.concatenate([one, other], axis=1), axis=1)  # whom both have stands there twice
    return Overlap((both[:, 1:] == both[:, :-1]).sum(1), one.shape[1])
