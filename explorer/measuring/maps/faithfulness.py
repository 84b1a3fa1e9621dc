"""How much of what is near in full space is near in a map? Trustworthiness, and the share of neighbours that stay."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from explorer.measuring.neighbours.nearest import Neighbourhoods
from explorer.measuring.scores.correlation import unit
from explorer.progress import Progress, Work

NEAREST = 15
MOST = 2000  # sentences that are looked at; their neighbours are sought among all
_ROWS = 256  # that are held at once
_SAME = 1e-6  # cosines that differ by less are those of duplicates


@dataclass(frozen=True)
class Faithfulness:
    """Of a map; NaN where there are too few sentences to say."""

    trustworthiness: float  # 1: no sentence is among another's nearest in the map that is far in full space
    kept: float  # share of the nearest in the map that are among the nearest in full space
    nearest: int
    sentences: int

    @property
    def told(self) -> str:
        """For the person who looks at the map."""
        if not np.isfinite(self.trustworthiness):
            return "Too few sentences to say how far this map is to be believed."
        return (
            f"Trustworthiness {self.trustworthiness:.3f}; of the {self.nearest} nearest in full space {self.kept:.0%} "
            f"are among the {self.nearest} nearest here ({self.sentences:,} sentences looked at)."
        )


def faithfulness(
    vectors: NDArray[np.floating], near: Neighbourhoods, places: NDArray[np.floating], stage: str, seed: int = 0
) -> Work[Faithfulness]:
    """Of places (sentence, axis) to vectors (sentence, width), as Venna and Kaski (2001) define trustworthiness."""
    count = len(vectors)
    nearest = min(NEAREST, (count - 1) // 2)  # the definition's limit is half of all
    looked_at = np.arange(count)
    if count > MOST:
        looked_at = np.sort(np.random.default_rng(seed).choice(count, MOST, replace=False))
    if nearest < 1:
        return Faithfulness(float("nan"), float("nan"), nearest, count)
    known = unit(vectors)
    too_far, kept = 0, 0
    for start in range(0, len(looked_at), _ROWS):
        yield Progress(stage, start, len(looked_at))
        some = looked_at[start : start + _ROWS]
        own = np.arange(len(some))
        in_map = _squared_distances(places, some)
        in_map[own, some] = np.inf
        found = np.argpartition(in_map, nearest - 1, axis=1)[:, :nearest]
        full = 1 - known[some] @ known.T
        full[own, some] = np.inf
        of_found = np.take_along_axis(full, found, axis=1)
        # of sentences that are equally near none is nearer: the rank is that of the first
        ranks = np.stack([(full < column[:, None] - _SAME).sum(1) for column in of_found.T], axis=1) + 1
        too_far += int(np.maximum(ranks - nearest, 0).sum())
        kept += int((of_found <= near.distances[some, nearest - 1 : nearest] + _SAME).sum())
    worst = len(looked_at) * nearest * (2 * count - 3 * nearest - 1) / 2
    return Faithfulness(1 - too_far / worst, kept / (len(looked_at) * nearest), nearest, len(looked_at))


def _squared_distances(places: NDArray[np.floating], some: NDArray[np.intp]) -> NDArray[np.float64]:
    distances = np.zeros((len(some), len(places)))
    for axis in places.T.astype(np.float64):
        distances += (axis[some, None] - axis[None, :]) ** 2
    return distances
