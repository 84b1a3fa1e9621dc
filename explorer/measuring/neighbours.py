"""Which neighbours did sentences keep from A to B, which did they gain, which did they lose?"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from explorer.errors import BadChoice
from explorer.measuring.retrieval import Floats, Hits, Index, Places
from explorer.progress import Progress, Work


@dataclass(frozen=True, eq=False)
class Overlap:
    """How many of its k nearest neighbours each sentence of a corpus has in A and in B."""

    kept: NDArray[np.intp]
    k: int  # less than was asked for where the corpus is smaller

    @cached_property
    def jaccard(self) -> Floats:
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

    def order(self, *, most_changed: bool) -> Places:
        """All sentences, the most or the least changed first; equals in the order of the corpus."""
        return np.argsort(self.kept if most_changed else -self.kept, kind="stable")


def overlap(one: Index, other: Index, k: int) -> Work[Overlap]:
    """Every sentence as a query, itself left out; only the counts are held."""
    if len(one) != len(other):
        raise BadChoice(f"A holds {len(one):,} sentences and B {len(other):,}. Index the same corpus on both sides.")
    kept: list[int] = []
    yield Progress("finding neighbours", 0, len(one))
    for found in zip(one.neighbours_of_all(k), other.neighbours_of_all(k), strict=True):
        kept += [kept_of(*hits) for hits in zip(*found, strict=True)]
        yield Progress("finding neighbours", len(kept), len(one))
    return Overlap(np.array(kept, dtype=np.intp), max(0, min(k, len(one) - 1)))


def kept_of(one: Hits, other: Hits) -> int:
    """How many sentences both found."""
    return len(set(one.places.tolist()) & set(other.places.tolist()))


def jaccard(one: Hits, other: Hits) -> float:
    """Sentences that both found by sentences that either found; NaN where neither found any."""
    kept = kept_of(one, other)
    either = len(one) + len(other) - kept
    return kept / either if either else float("nan")
