"""How alike are two vectors, and how well do two lists of numbers agree?"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# float32 cannot tell cosines apart that are closer than this: such a column is constant, and has no correlation
SAME = 1e-6


def unit(vectors: NDArray[Any]) -> NDArray[np.float32]:
    """Vectors (sentence, width) brought to length 1; one without a length stays as it is."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.ascontiguousarray(vectors / np.where(lengths > 0, lengths, 1), dtype=np.float32)


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
    constant = np.ptp(system, axis=-1) <= SAME
    return np.where(constant, np.nan, pearson(ranks(gold), ranks(system)))


def ranks(values: NDArray[Any]) -> Floats:
    """Ranks from 1 along the last axis; ties share their average rank.

    As scipy.stats.rankdata, whose import alone takes longer (0.6 s) than all else a page does before its first
    picture.
    """
    order = np.argsort(values, axis=-1)
    ascending = np.take_along_axis(values, order, axis=-1)
    changes = ascending[..., 1:] != ascending[..., :-1]
    edge = np.ones((*values.shape[:-1], 1), dtype=bool)
    places = np.arange(values.shape[-1])
    # every run of equal values has a first and a last place; its members get the middle of the two
    first = np.maximum.accumulate(np.where(np.concatenate([edge, changes], axis=-1), places, 0), axis=-1)
    ends = np.where(np.concatenate([changes, edge], axis=-1), places, len(places))
    last = np.minimum.accumulate(ends[..., ::-1], axis=-1)[..., ::-1]
    result = np.empty(values.shape)
    np.put_along_axis(result, order, (first + last) / 2 + 1, axis=-1)
    return result
