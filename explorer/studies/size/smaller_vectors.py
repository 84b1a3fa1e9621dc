"""Make vectors smaller: fewer dimensions, and fewer bits of a number.

Vectors get fewer dimensions by principal components or as they are (Matryoshka), and fewer bits of a number: unit
vectors are stored as float32, float16, int8 or bits, and a search compares what is stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explorer.errors import BadChoice

if TYPE_CHECKING:
    from explorer.encoding.read.parts.dense import Dense

Vectors = NDArray[np.float32]  # (sentence, width); of length 1 where they are stored

PCA, FIRST = "pca", "first"
WAYS = (PCA, FIRST)
FLOAT32, FLOAT16, INT8, BITS = "float32", "float16", "int8", "bits"
STORAGES: Mapping[str, int] = {FLOAT32: 32, FLOAT16: 16, INT8: 8, BITS: 1}  # bits of a dimension
LARGEST = 127  # code of int8


@dataclass(frozen=True, eq=False)
class Projection:
    """The map onto fewer dimensions, most important first: `weight` (dimension, width) and `bias` (dimension)."""

    weight: Vectors
    bias: NDArray[np.float32]

    def onto(self, dimensions: int) -> Projection:
        """The map onto the first of its dimensions alone."""
        return Projection(self.weight[:dimensions], self.bias[:dimensions])

    def __call__(self, vectors: Vectors) -> Vectors:
        """Vectors of fewer dimensions."""
        mapped: Vectors = vectors @ self.weight.T + self.bias
        return mapped

    def as_dense(self) -> Dense:
        """The map as a layer of an encoder."""
        import torch

        from explorer.encoding.read.parts.dense import Dense

        weight, bias = (torch.from_numpy(np.ascontiguousarray(one)) for one in (self.weight, self.bias))
        return Dense(weight, bias if bias.any() else None, "Identity")


def fitted(way: str, text: Vectors, dimensions: int) -> Projection:
    """Fit the map onto at most so many dimensions to the vectors of some text."""
    if way == FIRST:
        width = text.shape[1]
        return Projection(np.eye(dimensions, width, dtype=np.float32), np.zeros(dimensions, dtype=np.float32))
    from sklearn.decomposition import PCA as Components

    if len(text) <= dimensions:
        raise BadChoice(
            f"PCA onto {dimensions} dimensions needs more than {dimensions} distinct sentences to be fitted on, but "
            f"there are {len(text)} besides those of the evaluation set. Choose more text, fewer dimensions, or "
            f"'{FIRST}', which fits nothing."
        )
    found = Components(dimensions, svd_solver="covariance_eigh").fit(text.astype(np.float64))
    components = found.components_
    return Projection(components.astype(np.float32), (-components @ found.mean_).astype(np.float32))


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


def bytes_of(stored: str, dimensions: int) -> int:
    """The bytes of one vector in a format; bits fill whole bytes."""
    return -(-STORAGES[stored] * dimensions // 8)


def compared(stored: str, vectors: Vectors, step: float) -> Vectors:
    """The numbers that a search compares in place of those of the vectors, if they are stored in this format."""
    if stored == FLOAT16:
        return vectors.astype(np.float16).astype(np.float32)
    if stored == INT8:
        lowest, _ = ranges_of(step)
        codes: Vectors = np.clip(np.floor((vectors - np.float32(lowest)) / np.float32(step)), 0, 255) - np.float32(128)
        return codes
    if stored == BITS:  # 1 and -1: the cosine falls with the number of bits that differ, the Hamming distance
        return np.where(vectors > 0, np.float32(1), np.float32(-1))
    return vectors
