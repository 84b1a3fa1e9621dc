"""Fewer dimensions: the principal components of vectors of text, or the first dimensions as they are (Matryoshka)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explorer.errors import BadChoice

if TYPE_CHECKING:
    from explorer.encoding.read.parts.dense import Dense

Vectors = NDArray[np.float32]  # (sentence, width)

PCA, FIRST = "pca", "first"
WAYS = (PCA, FIRST)


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
        """The same as a layer of an encoder."""
        import torch

        from explorer.encoding.read.parts.dense import Dense

        weight, bias = (torch.from_numpy(np.ascontiguousarray(one)) for one in (self.weight, self.bias))
        return Dense(weight, bias if bias.any() else None, "Identity")


def fitted(way: str, text: Vectors, dimensions: int) -> Projection:
    """Fit the map onto at most so many dimensions to the vectors of some text."""
    if way not in WAYS:
        raise BadChoice(f"There is no way '{way}' to cut dimensions. Choose one of {', '.join(WAYS)}.")
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
