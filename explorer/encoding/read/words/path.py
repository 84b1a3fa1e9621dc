"""Points on the straight path from the reference of a sentence to the sentence, most where its vector turns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

POINTS = (16, 20, 24, 32, 48, 64, 96, 128, 192, 256)  # on the path, until the parts add up
LOOKS = 16  # equal pieces of the path, to find where the vector changes fastest
MOSTLY, LOOKS_CLOSER = 0.5, 5  # a piece with this share of the change is cut into pieces in turn, so many times

Floats = NDArray[np.float64]
Vectors = Callable[[Tensor], Tensor]


@dataclass(frozen=True, eq=False)
class EmbeddingPath:
    """Embeddings (point, token, width) between reference and sentence, and the weight of each in the integral."""

    points: Tensor
    weights: Tensor


def paths(vectors: Vectors, start: Tensor, end: Tensor) -> Iterator[EmbeddingPath]:
    """Paths of more and more points."""
    centre, width = _fastest(vectors, start, end)
    for count in POINTS:
        places, weights = (torch.tensor(values, device=end.device) for values in _quadrature(count, centre, width))
        yield EmbeddingPath(start + places.to(end)[:, None, None] * (end - start), weights)


@torch.no_grad()
def _fastest(vectors: Vectors, start: Tensor, end: Tensor) -> tuple[float, float]:
    """Where on the path, from 0 to 1, the vector changes fastest, and how wide that place is.

    A layer normalisation makes a vector turn within a part of the path, around the point at which the words outweigh
    what replaced them; from a reference of zeros that part is tiny.
    """
    low, size = 0.0, 1.0
    for _ in range(LOOKS_CLOSER):
        places = torch.linspace(low, low + size, LOOKS + 1, device=end.device)
        turns = vectors(start + places[:, None, None] * (end - start)).diff(dim=0).norm(dim=1)
        fastest, share = int(turns.argmax()), float(turns.max() / turns.sum().clamp_min(1e-12))
        low, size = low + size * fastest / LOOKS, size / LOOKS
        if share < MOSTLY:
            break
    width = size / np.pi / max(share, 1 / LOOKS)  # as of a Lorentz curve
    return low + size / 2, min(width, 1.0)


def _quadrature(count: int, centre: float, width: float) -> tuple[Floats, Floats]:
    """Places from 0 to 1 and their weights: Gauss-Legendre after a sinh transformation.

    The transformation (Johnston and Elliott 2005) puts most points where the integrand has its peak.
    """
    places, weights = np.polynomial.legendre.leggauss(count)
    low, high = np.arcsinh(-centre / width), np.arcsinh((1 - centre) / width)
    inner = (high - low) / 2 * places + (high + low) / 2
    return centre + width * np.sinh(inner), weights * (high - low) / 2 * width * np.cosh(inner)
