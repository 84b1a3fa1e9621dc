"""The interval of a mean over seeds, by scipy."""

from collections.abc import Sequence

import numpy as np
from scipy.stats import norm, t


def by_hand(gaps: Sequence[tuple[float, float, float]]) -> tuple[float, float]:
    """The ends of the interval from each seed's difference and its own ends, by Welch and Satterthwaite."""
    middle, low, high = np.array(gaps, dtype=np.float64).T
    seeds = middle.var(ddof=1) / len(middle)

    def half(width: float) -> float:
        items = (width / norm.ppf(0.975)) ** 2
        freedom = (items + seeds) ** 2 / (seeds**2 / (len(middle) - 1)) if seeds else np.inf
        return float(t.ppf(0.975, freedom) * np.sqrt(items + seeds))

    return float(middle.mean() - half((middle - low).mean())), float(middle.mean() + half((high - middle).mean()))
