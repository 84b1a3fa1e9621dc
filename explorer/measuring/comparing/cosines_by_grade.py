"""Histograms of cosines in every fifth of the scale of gold scores."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.in_words import Rows, rounded

Floats = NDArray[np.float64]
FIFTHS = 5
COSINES = 25  # bins between the lowest and the highest cosine

HOW_TO_READ = (
    "The distribution of cosines in each fifth of the scale of gold scores; dotted: the median. The less the rows "
    "overlap, the better the cosines separate what people separate."
)


@dataclass(frozen=True, eq=False)
class GoldBin:
    """Pairs of one band of gold scores: counts (side, bin of cosine), and each side's median, NaN without cosines."""

    label: str  # the gold scores
    pairs: int
    counts: NDArray[np.intp]
    medians: tuple[float, ...]

    @property
    def shares(self) -> Floats:
        """The shares (side, bin of cosine) of the pairs of this band; 0 without pairs."""
        return self.counts / max(1, self.pairs)


@dataclass(frozen=True, eq=False)
class GoldBins:
    """Histograms of cosines with the same edges in every band of gold scores, lowest first."""

    edges: Floats  # of the cosine bins
    bins: tuple[GoldBin, ...]


def gold_bins(gold: Floats, sides: Sequence[NDArray[Any]]) -> GoldBins:
    """Count the cosines (pair) of one or more sides in bins, without missing ones; the last bin includes both edges."""
    known = np.concatenate([side[np.isfinite(side)] for side in sides])
    edges = _edges(float(known.min()), float(known.max())) if len(known) else _edges(-1.0, 1.0)
    grades = _grades(gold)
    inside = np.clip(np.digitize(gold, grades) - 1, 0, len(grades) - 2)
    bins = []
    for place, label in enumerate(_labels(grades)):
        cosines = [side[(inside == place) & np.isfinite(side)].astype(np.float64) for side in sides]
        bins.append(
            GoldBin(
                label,
                int((inside == place).sum()),
                np.array([np.histogram(side, edges)[0] for side in cosines]),
                tuple(float(np.median(side)) if len(side) else float("nan") for side in cosines),
            )
        )
    return GoldBins(edges, tuple(bins))


def gold_bin_rows(found: GoldBins) -> Rows:
    """A row for every bin of gold scores and of cosines: the number of pairs of A and of B."""
    return [
        {
            "grades": of_grade.label,
            "pairs": of_grade.pairs,
            "cosine from": round(float(low), 6),
            "cosine to": round(float(high), 6),
            **{f"pairs of {name}": int(count) for name, count in zip("AB", of_grade.counts[:, place], strict=False)},
        }
        for of_grade in found.bins
        for place, (low, high) in enumerate(pairwise(found.edges))
    ]


def median_rows(found: GoldBins) -> Rows:
    """A row for every bin of gold scores: its pairs, and the median cosines of A and B, missing without pairs."""
    return [
        {
            "grades": of_grade.label,
            "pairs": of_grade.pairs,
            **{f"median cosine {name}": rounded(median) for name, median in zip("AB", of_grade.medians, strict=False)},
        }
        for of_grade in found.bins
    ]


def _edges(low: float, high: float) -> Floats:
    """The edges of the cosine bins; equal cosines get a narrow range around them."""
    if high - low < 1e-6:
        low, high = low - 0.005, high + 0.005
    return np.linspace(float(low), float(high), COSINES + 1)


def _grades(gold: Floats) -> Floats:
    """The edges of the fifths, from the lowest gold score to the highest, which can be equal."""
    low, high = float(gold.min()), float(gold.max())
    if low == high:
        return np.array([low, high])
    # rounded, so that 4.2 is in the bin that begins with 4.2
    return np.round(np.linspace(low, high, FIFTHS + 1), 9)


def _labels(grades: Floats) -> list[str]:
    edges = [f"{edge:.3g}" for edge in grades]
    if edges[0] == edges[-1]:
        return [edges[0]]
    below = [f"{low} to below {high}" for low, high in pairwise(edges)]
    return [*below[:-1], f"{edges[-2]} to {edges[-1]}"]
