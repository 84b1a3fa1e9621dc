"""How alike are two vectors, and how well do two lists of numbers agree?"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# float32 cannot tell cosines apart that are closer than this: such a column is constant, and has no correlation
SAME = 1e-6


def pearson(gold: Floats, system: NDArray[Any]) -> Floats:
    """Pearson's r of `gold` (pair) with the last axis of `system` (…, pair); NaN where a side is constant."""
    gold = gold - gold.mean()
    spread = np.ptp(system, axis=-1)
    centred = system.astype(np.float64) - system.mean(axis=-1, keepdims=True, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        r = (centred @ gold) / np.sqrt((centred**2).sum(-1) * (gold**2).sum())
    return np.where((spread <= SAME) | (np.ptp(gold) == 0), np.nan, r)


def spearman(gold: Floats, system: NDArray[Any]) -> Floats:
    """Spearman's ρ of `gold` (pair) with the last axis of `system` (…, pair); NaN where a side is constant."""
    from scipy.stats import rankdata

    constant = np.ptp(system, axis=-1) <= SAME
    r = pearson(rankdata(gold), rankdata(system, axis=-1))  # ties share their average rank
    return np.where(constant, np.nan, r)
