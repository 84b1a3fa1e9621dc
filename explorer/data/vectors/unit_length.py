"""Normalise vectors to length 1, however large or small their numbers are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def unit(vectors: NDArray[Any]) -> NDArray[np.float32]:
    """Normalise vectors (sentence, width) to length 1; a zero vector is unchanged."""
    largest = np.maximum(vectors.max(axis=1, keepdims=True, initial=0), -vectors.min(axis=1, keepdims=True, initial=0))
    # the power of two at or below it: dividing by that changes no digit. In float32 the squares of numbers from 2e19 on
    # would be infinite, and those of numbers below 3e-23 would be 0
    power = np.ldexp(largest.dtype.type(1), np.frexp(largest)[1] - 1)
    scaled = vectors / power
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    return np.ascontiguousarray(scaled / np.where(lengths > 0, lengths, 1), dtype=np.float32)
