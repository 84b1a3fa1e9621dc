"""Normalisation, cosine rounding, and Pearson's and Spearman's correlation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.data.vectors.unit_length import unit

__all__ = ["ROUNDOFF", "SAME", "SAME_VECTOR", "mean", "measured", "pearson", "ranks", "spearman", "unit"]

Floats = NDArray[np.float64]

# Vectors in float32 that differ by less than this share of their length are equal but for the rounding of a forward
# pass, which is about 1e-7 and changes with the batch a sentence is in.
SAME_VECTOR = 1e-6
# Cosines in float64 that differ by less are those of equal vectors: 1 - cos is half the squared distance. A column of
# them is constant and has no correlation. [CLS] of layer 3 of all-MiniLM-L6-v2, whose cosines are the closest that
# still rank pairs, spreads over 2e-6, which is two million times as much.
SAME = SAME_VECTOR**2
# The unit roundoff of precisions of few bits: the most, as a share of itself, by which a number is rounded. Bfloat16
# keeps 8 bits.
ROUNDOFF = {"bfloat16": 2**-8}


def measured(cosines: NDArray[Any], precision: str) -> NDArray[Any]:
    """Cosines (…, pair), with NaN for columns whose order is lost in the rounding of the precision.

    Rounding moves each of two vectors by up to u of its length, u being the unit roundoff, and so puts two equal ones
    up to √2 u apart, which is a cosine of 1 - u². A column whose median, over pairs of two vectors, is no further from
    1 is missing. Constant columns stay as they are.
    """
    if precision not in ROUNDOFF:
        return cosines
    found = cosines.copy()
    for column in found.reshape(-1, found.shape[-1]):  # a view: what is written is written into `found`
        apart = column[column < 1]
        if np.ptp(column) > SAME and 1 - np.median(apart) <= ROUNDOFF[precision] ** 2:
            column[:] = np.nan
    return found


def pearson(gold: Floats, system: NDArray[Any]) -> Floats:
    """Pearson's r of `gold` (pair) with the last axis of `system` (…, pair); NaN if one is constant or missing."""
    gold = gold - gold.mean()
    varies = np.ptp(system, axis=-1) > SAME
    centred = system.astype(np.float64) - system.mean(axis=-1, keepdims=True, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        r = (centred @ gold) / np.sqrt((centred**2).sum(-1) * (gold**2).sum())
    return np.where(varies & (np.ptp(gold) > 0), r, np.nan)


def mean(gold: Floats, system: NDArray[Any]) -> Floats:
    """The mean along the last axis of `system` (…, item), which has scores of items; `gold` has no part in it."""
    return np.asarray(system.mean(axis=-1), dtype=np.float64)


def spearman(gold: Floats, system: NDArray[Any], same: float = SAME) -> Floats:
    """Spearman's ρ of `gold` (pair) with the last axis of `system` (…, pair); NaN if a side is constant or missing.

    A column that spreads over no more than `same` is constant.
    """
    varies = np.ptp(system, axis=-1) > same
    return np.where(varies, pearson(ranks(gold), ranks(system)), np.nan)


def ranks(values: NDArray[Any]) -> Floats:
    """Ranks from 1 along the last axis; ties share their average rank.

    Like scipy.stats.rankdata, whose import alone takes 0.6 s.
    """
    order = np.argsort(values, axis=-1)
    ascending = np.take_along_axis(values, order, axis=-1)
    changes = ascending[..., 1:] != ascending[..., :-1]
    edge = np.ones((*values.shape[:-1], 1), dtype=bool)
    places = np.arange(values.shape[-1])
    # ties get the mean of their first and last rank
    first = np.maximum.accumulate(np.where(np.concatenate([edge, changes], axis=-1), places, 0), axis=-1)
    ends = np.where(np.concatenate([changes, edge], axis=-1), places, len(places))
    last = np.minimum.accumulate(ends[..., ::-1], axis=-1)[..., ::-1]
    result = np.empty(values.shape)
    np.put_along_axis(result, order, (first + last) / 2 + 1, axis=-1)
    return result
