"""Count the cosines of two models in bins, in every band of gold scores."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.in_words import Rows, rounded

Floats = NDArray[np.float64]

FIFTHS = 5  # of the scale of gold scores
COSINES = 25  # bins between the lowest and the highest cosine

HOW_TO_READ = (
    "The distribution of cosines in each fifth of the scale of gold scores; dotted: the median. The less the rows "
    "overlap, the better the cosines separate what people separate."
)


@dataclass(frozen=True, eq=False)
class GoldBins:
    """Histograms of cosines in every band of gold scores, lowest first, all with the same edges."""

    edges: Floats  # of the cosine bins
    grades: Floats  # the edges of the bands
    labels: tuple[str, ...]  # the gold scores of each band
    pairs: tuple[int, ...]  # how many each band has
    counts: NDArray[np.intp]  # (band, side, bin of cosine)
    medians: Floats  # (band, side): of the cosines; NaN without any

    @property
    def shares(self) -> Floats:
        """The shares (band, side, bin of cosine) of the pairs of a band; 0 without pairs."""
        return np.asarray(self.counts / np.maximum(1, self.pairs)[:, None, None])


def gold_bins(gold: Floats, sides: Sequence[NDArray[Any]]) -> GoldBins:
    """Count the cosines (pair) of one or more sides in bins, without missing ones; the last bin includes both edges."""
    known = np.concatenate([side[np.isfinite(side)] for side in sides])
    low, high = (float(known.min()), float(known.max())) if len(known) else (-1.0, 1.0)
    if high - low < 1e-6:  # equal cosines get a narrow range around them
        low, high = low - 0.005, high + 0.005
    edges = np.linspace(low, high, COSINES + 1)

    # fifths from the lowest gold score to the highest, rounded so that 4.2 is in the bin that begins with 4.2; one band
    # if they have no labels of their own
    least, most = float(gold.min()), float(gold.max())
    count = FIFTHS if f"{least:.3g}" != f"{most:.3g}" else 1
    grades = np.round(np.linspace(least, most, count + 1), 9)
    ends = [f"{edge:.3g}" for edge in grades]
    labels = [f"{one} to below {other}" for one, other in pairwise(ends[:-1])]
    labels.append(f"{ends[-2]} to {ends[-1]}" if count > 1 else ends[0])

    bands = np.clip(np.digitize(gold, grades) - 1, 0, count - 1)
    inside = [bands == band for band in range(count)]
    cosines = [[side[one & np.isfinite(side)].astype(np.float64) for side in sides] for one in inside]
    return GoldBins(
        edges,
        grades,
        tuple(labels),
        tuple(int(one.sum()) for one in inside),
        np.array([[np.histogram(side, edges)[0] for side in band] for band in cosines]),
        np.array([[np.median(side) if len(side) else np.nan for side in band] for band in cosines]),
    )


def gold_bin_rows(found: GoldBins) -> Rows:
    """A row for every bin of gold scores and of cosines: the number of pairs of A and of B."""
    return [
        {
            "gold score from": round(float(least), 9),
            "gold score to": round(float(most), 9),
            "pairs": pairs,
            "cosine from": round(float(low), 6),
            "cosine to": round(float(high), 6),
            **{f"pairs of {name}": int(count) for name, count in zip("AB", counts[:, place], strict=False)},
        }
        for (least, most), pairs, counts in zip(pairwise(found.grades), found.pairs, found.counts, strict=True)
        for place, (low, high) in enumerate(pairwise(found.edges))
    ]


def median_rows(found: GoldBins) -> Rows:
    """A row for every bin of gold scores: its pairs, and the median cosines of A and B, missing without pairs."""
    return [
        {
            "grades": label,
            "pairs": pairs,
            **{f"median cosine {name}": rounded(median) for name, median in zip("AB", medians, strict=False)},
        }
        for label, pairs, medians in zip(found.labels, found.pairs, found.medians, strict=True)
    ]
