"""Measure how well a map preserves neighbours: its trustworthiness, and the share of them that is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer import in_words
from explorer.measuring.neighbours.vector_index import Neighbourhoods, neighbourhoods
from explorer.measuring.scores.correlation import unit
from explorer.progress import Progress, Work

Floats = NDArray[np.float64]

NEAREST = 15  # neighbours that a map should preserve
MOST_CHECKED = 2000  # sentences that are checked; their neighbours are searched among all
_ROWS, _CELLS = 256, 2**23  # sentences, and distances, in memory at once
_SAME = 1e-6  # cosines that differ by less are those of duplicates


@dataclass(frozen=True)
class Faithfulness:
    """The quality of a map; NaN with too few sentences."""

    trustworthiness: float  # from 0 to 1, higher is better; 1: no false neighbours in the map
    kept: float  # share of neighbours preserved, from 0 to 1, higher is better
    nearest: int
    sentences: int

    @property
    def text(self) -> str:
        """The quality in words."""
        if not np.isfinite(self.trustworthiness):
            return "Too few sentences to measure the trustworthiness of this map."
        return (
            f"Trustworthiness {self.trustworthiness:.3f} (1 is best); {in_words.percent(self.kept)} of "
            f"the {self.nearest} nearest "
            f"neighbours are preserved ({self.sentences:,} sentences checked)."
        )


def faithfulness(
    vectors: NDArray[np.floating],
    near: Neighbourhoods | None,
    places: NDArray[np.floating],
    stage: str,
    seed: int = 0,
    most: int | None = None,
) -> Work[Faithfulness]:
    """Compare positions (sentence, axis) with vectors (sentence, width); trustworthiness as in Venna and Kaski (2001).

    At most so many sentences are checked, 2,000 by default; without `near`, their neighbours are found here.
    """
    count = len(vectors)
    nearest = min(NEAREST, (count - 1) // 2)  # the definition requires less than half of all
    checked = np.arange(count)
    if count > (most or MOST_CHECKED):
        checked = np.sort(np.random.default_rng(seed).choice(count, most or MOST_CHECKED, replace=False))
    if nearest < 1:
        return Faithfulness(float("nan"), float("nan"), nearest, count)
    known = unit(vectors)
    too_far, kept = 0, 0
    rows = max(1, min(_ROWS, _CELLS // count))
    for start in range(0, len(checked), rows):
        yield Progress(stage, start, len(checked))
        some = checked[start : start + rows]
        own = np.arange(len(some))
        in_map = np.zeros((len(some), count))
        for axis in places.T.astype(np.float64):
            in_map += (axis[some, None] - axis[None, :]) ** 2
        in_map[own, some] = np.inf
        found = np.argpartition(in_map, nearest - 1, axis=1)[:, :nearest]
        full = 1 - known[some] @ known.T
        full[own, some] = np.inf
        of_found = np.take_along_axis(full, found, axis=1)
        # equally near sentences have the rank of the first
        ranks = np.stack([(full < column[:, None] - _SAME).sum(1) for column in of_found.T], axis=1) + 1
        too_far += int(np.maximum(ranks - nearest, 0).sum())
        last = np.partition(full, nearest - 1, axis=1) if near is None else near.distances[some]
        kept += int((of_found <= last[:, nearest - 1 : nearest] + _SAME).sum())
    worst = len(checked) * nearest * (2 * count - 3 * nearest - 1) / 2
    return Faithfulness(1 - too_far / worst, kept / (len(checked) * nearest), nearest, len(checked))


def believed(probe: NDArray[Any], places: Floats) -> Work[Faithfulness]:
    """The trustworthiness of the map (sentence, 2) of one step."""
    vectors = probe.astype(np.float32)
    near = yield from neighbourhoods(vectors)
    return (yield from faithfulness(vectors, near, places, "trustworthiness of the map"))
