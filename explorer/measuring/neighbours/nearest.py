"""The nearest neighbours of every sentence, with distances."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from explorer.measuring.neighbours.vector_index import Index
from explorer.progress import Progress, Work

MOST = 150  # most neighbours of a map: as many as t-SNE needs at its largest perplexity


@dataclass(frozen=True, eq=False)
class Neighbourhoods:
    """The nearest neighbours of every sentence by cosine, nearest first, without itself."""

    places: NDArray[np.int32]  # (sentence, neighbour)
    distances: NDArray[np.float32]  # (sentence, neighbour): 1 - cosine

    def __len__(self) -> int:
        return len(self.places)


def neighbourhoods(
    vectors: NDArray[np.float32], stage: str = "finding neighbours", most: int = MOST
) -> Work[Neighbourhoods]:
    """Find the neighbours of vectors (sentence, width): up to `most`, or all others."""
    yield Progress(stage, 0, len(vectors))
    nearest = min(most, max(0, len(vectors) - 1))
    places = np.empty((len(vectors), nearest), dtype=np.int32)
    distances = np.empty((len(vectors), nearest), dtype=np.float32)
    if not nearest:
        return Neighbourhoods(places, distances)
    done = 0
    for found, cosines in Index(vectors).neighbours_of_all(nearest):
        block = slice(done, done := done + len(found))
        places[block], distances[block] = found, 1 - cosines
        yield Progress(stage, done, len(vectors))
    return Neighbourhoods(places, distances)
