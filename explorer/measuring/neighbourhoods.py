"""Which sentences are nearest to each, and how many of them stay so from A to B?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from explorer.progress import Progress, Work

MOST = 150  # neighbours that are remembered: as many as t-SNE asks for at its widest perplexity
COMPARED = 10  # neighbours by which A and B are compared
_ROWS = 1024  # of a matrix of cosines that are held at once

Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Neighbourhoods:
    """The nearest of every sentence by cosine, nearest first; itself is not among them."""

    places: NDArray[np.int32]  # (sentence, neighbour)
    distances: Floats  # (sentence, neighbour): 1 - cosine

    def __len__(self) -> int:
        return len(self.places)


@dataclass(frozen=True)
class Exchange:
    """The nearest of one sentence: those it has in both, those it has in A only, and in B only; nearest first."""

    kept: tuple[int, ...]
    lost: tuple[int, ...]
    gained: tuple[int, ...]


def unit(vectors: NDArray[np.floating]) -> Floats:
    """Vectors brought to length 1; one without a length stays as it is."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), dtype=np.float32)


def neighbourhoods(vectors: NDArray[np.floating], stage: str = "looking for neighbours") -> Work[Neighbourhoods]:
    """Exact, from products of matrices by blocks."""
    known = unit(vectors)
    count = len(known)
    nearest = min(MOST, max(0, count - 1))
    places = np.empty((count, nearest), dtype=np.int32)
    distances = np.empty((count, nearest), dtype=np.float32)
    for start in range(0, count if nearest else 0, _ROWS):
        yield Progress(stage, start, count)
        cosines = known[start : start + _ROWS] @ known.T
        own = np.arange(len(cosines))
        cosines[own, start + own] = -np.inf
        found = np.argpartition(cosines, count - nearest, axis=1)[:, count - nearest :]
        near = np.take_along_axis(cosines, found, axis=1)
        order = np.lexsort((found, -near), axis=1)  # of those that are equally near, the first in the text leads
        places[start : start + _ROWS] = np.take_along_axis(found, order, axis=1)
        distances[start : start + _ROWS] = 1 - np.take_along_axis(near, order, axis=1)
    return Neighbourhoods(places, np.clip(distances, 0, 2))


def overlap(one: Neighbourhoods, other: Neighbourhoods, nearest: int = COMPARED) -> NDArray[np.float64]:
    """Jaccard of the nearest of every sentence in one and in the other: 1 where all stay, 0 where none does."""
    nearest = min(nearest, one.places.shape[1])
    if not nearest:
        return np.full(len(one), np.nan)
    first, second = one.places[:, :nearest], other.places[:, :nearest]
    shared = (first[:, :, None] == second[:, None, :]).sum((1, 2))
    return np.asarray(shared / (2 * nearest - shared), dtype=np.float64)


def exchange(one: Neighbourhoods, other: Neighbourhoods, sentence: int, nearest: int = COMPARED) -> Exchange:
    """What became of the nearest of one sentence."""
    before, after = (side.places[sentence, :nearest].tolist() for side in (one, other))
    return Exchange(
        kept=tuple(place for place in before if place in after),
        lost=tuple(place for place in before if place not in after),
        gained=tuple(place for place in after if place not in before),
    )


def moved(one: NDArray[np.floating], other: NDArray[np.floating]) -> NDArray[np.float64] | None:
    """1 - cosine of every sentence's vectors in A and B; None where their widths differ, NaN for one without length."""
    if one.shape[1] != other.shape[1]:
        return None
    distances = 1 - (unit(one) * unit(other)).sum(1, dtype=np.float64)
    whole = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1) > 0
    return np.where(whole, np.clip(distances, 0, 2), np.nan)
