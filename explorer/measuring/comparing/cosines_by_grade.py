"""Do cosines go up with the grades that people gave? How they are spread in every fifth of the scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.measuring.table_cells import Rows, rounded

Floats = NDArray[np.float64]
FIFTHS = 5
COSINES = 25  # bins between the lowest and the highest cosine

HOW_TO_READ = (
    "Of the pairs in each fifth of the scale of grades, how many have about which cosine; dotted, the median. The less "
    "the rows overlap, the better the cosines tell apart what people tell apart."
)


@dataclass(frozen=True, eq=False)
class GoldBin:
    """Pairs of about one grade: how many (side, bin of cosine), and each side's median, NaN without cosines."""

    label: str  # the grades
    pairs: int
    counts: NDArray[np.intp]
    medians: tuple[float, ...]

    @property
    def shares(self) -> Floats:
        """Of the pairs of this grade (side, bin of cosine); of none, none."""
        return self.counts / max(1, self.pairs)


@dataclass(frozen=True, eq=False)
class GoldBins:
    """Histograms of cosines with the same edges in every bin of grades, the lowest grades first."""

    edges: Floats  # of the cosines: one more than there are bins
    bins: tuple[GoldBin, ...]


def gold_bins(gold: Floats, sides: Sequence[NDArray[Any]]) -> GoldBins:
    """Bins of the cosines (pair) of one or more sides, missing ones left out; the last bin has both its edges."""
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
    """A row for every bin of grades and of cosines: how many pairs A, and B, have in it."""
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
    """A row for every bin of grades: its pairs, and the median cosine of A, and of B; missing where it has no pairs."""
    return [
        {
            "grades": of_grade.label,
            "pairs": of_grade.pairs,
            **{f"median cosine {name}": rounded(median) for name, median in zip("AB", of_grade.medians, strict=False)},
        }
        for of_grade in found.bins
    ]


def _edges(low: float, high: float) -> Floats:
    """Of the bins of cosines; all the same have a bin in the middle of a narrow range."""
    if high - low < 1e-6:
        low, high = low - 0.005, high + 0.005
    return np.linspace(float(low), float(high), COSINES + 1)


def _grades(gold: Floats) -> Floats:
    """Of the fifths of the scale: from the lowest grade given to the highest, which may be the same."""
    low, high = float(gold.min()), float(gold.max())
    if low == high:
        return np.array([low, high])
    # without the last digits of the computation: 4.2 is to be in the bin that begins with 4.2
    return np.round(np.linspace(low, high, FIFTHS + 1), 9)


def _labels(grades: Floats) -> list[str]:
    edges = [f"{edge:.3g}" for edge in grades]
    if edges[0] == edges[-1]:
        return [edges[0]]
    below = [f"{low} to below {high}" for low, high in pairwise(edges)]
    return [*below[:-1], f"{edges[-2]} to {edges[-1]}"]
