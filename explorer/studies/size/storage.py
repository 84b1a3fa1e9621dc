"""Fewer bits: unit vectors stored as float32, float16, int8 or bits, and what a search compares of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]  # (sentence, dimension), of length 1

FLOAT32, FLOAT16, INT8, BITS = "float32", "float16", "int8", "bits"
LARGEST = 127  # code of int8


@dataclass(frozen=True)
class Storage:
    """A format: the bytes of a vector, and the numbers that a search compares in place of its own."""

    bits: int  # of a dimension
    compared: Callable[[Vectors, float], Vectors]  # from vectors and the step of int8

    def bytes_of(self, dimensions: int) -> int:
        """The bytes of one vector; bits fill whole bytes."""
        return -(-self.bits * dimensions // 8)


def step_of(text: Vectors) -> float:
    """The value of one step of int8: the largest number in the vectors of some text is the largest code.

    One step serves all dimensions, so that the cosine of codes is that of the vectors up to rounding.
    """
    return float(np.abs(text).max()) / LARGEST or 1.0


def ranges_of(step: float) -> tuple[float, float]:
    """The lowest and the highest value, as sentence-transformers' quantize_embeddings takes them for these codes.

    Its code is floor((value - lowest) / step) - 128, so that these ranges make it round(value / step).
    """
    return -128.5 * step, 126.5 * step


def _int8(vectors: Vectors, step: float) -> Vectors:
    lowest, _ = ranges_of(step)
    codes: Vectors = np.clip(np.floor((vectors - np.float32(lowest)) / np.float32(step)), 0, 255) - np.float32(128)
    return codes


def _bits(vectors: Vectors, step: float) -> Vectors:
    """1 and -1: the cosine falls with the number of bits that differ, the Hamming distance."""
    return np.where(vectors > 0, np.float32(1), np.float32(-1))


STORAGES: Mapping[str, Storage] = {
    FLOAT32: Storage(32, lambda vectors, _: vectors),
    FLOAT16: Storage(16, lambda vectors, _: vectors.astype(np.float16).astype(np.float32)),
    INT8: Storage(8, _int8),
    BITS: Storage(1, _bits),
}
