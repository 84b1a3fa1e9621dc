"""Drift of each layer between two models: linear CKA and the shift of the vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.measuring.scores.correlation import SAME_VECTOR


def alike(one: NDArray[Any], other: NDArray[Any]) -> float:
    """Linear CKA (Kornblith and others 2019) of vectors (sentence, width), whose widths may differ.

    1 if one is a rotation, translation and scaling of the other; NaN if one side is constant.
    """
    first, second = (_centred(side) for side in (one, other))
    if any(_never_varies(*sides) for sides in ((one, first), (other, second))):
        return float("nan")
    together = np.square(first.T @ second).sum()
    alone = [float(np.sqrt(np.square(side.T @ side).sum())) for side in (first, second)]
    return float(together / (alone[0] * alone[1]))


def shift(one: NDArray[Any], other: NDArray[Any]) -> float:
    """1 minus the mean cosine of a sentence's two vectors; NaN if the widths differ."""
    distances = moved(one, other)
    known = np.zeros(0) if distances is None else distances[np.isfinite(distances)]
    return float(known.mean()) if len(known) else float("nan")


def moved(one: NDArray[Any], other: NDArray[Any]) -> NDArray[np.float64] | None:
    """1 - cosine of every sentence's two vectors; None if their widths differ, NaN for a zero vector."""
    if one.shape[1] != other.shape[1]:
        return None
    products = (one.astype(np.float64) * other).sum(1)
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    cosines = products / np.where(lengths > 0, lengths, np.nan)
    return np.asarray(np.clip(1 - cosines, 0, 2), dtype=np.float64)


def _never_varies(vectors: NDArray[Any], centred: NDArray[np.float64]) -> bool:
    """Whether all vectors are equal, except for rounding."""
    return bool(np.square(centred).sum() <= SAME_VECTOR**2 * np.square(vectors.astype(np.float64)).sum())


def _centred(vectors: NDArray[Any]) -> NDArray[np.float64]:
    vectors = vectors.astype(np.float64)
    return np.asarray(vectors - vectors.mean(0))
