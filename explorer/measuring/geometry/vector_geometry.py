"""Embedding geometry of vectors: anisotropy, uniformity, alignment, hubness, and the drift between two models.

During training, one layer & pooling is evaluated with its score, its geometry and the vectors of probe sentences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from explorer.measuring.scores.correlation import SAME_VECTOR, unit
from explorer.measuring.scores.judge import Judge

if TYPE_CHECKING:
    from torch import Tensor

Floats = NDArray[np.float64]

NEIGHBOURS = 10
_ROWS = 1024  # of a matrix of cosines in memory
PROBE = 300  # sentences whose vectors are saved at each evaluation, for the Replay page


@dataclass(frozen=True)
class Geometry:
    """The geometry of normalised vectors; NaN if there are too few of them, or all are equal."""

    random_pairs: float  # mean cosine of all pairs of different sentences: similarity of random pairs
    first_direction: float  # share of the variance in the first principal component
    first_three: float  # share of the variance in the first three
    uniformity: float  # log of the mean of exp(-2 d²) over all pairs; lower is more spread out
    hubness: float  # skewness of how often a sentence is among another's nearest 10; 0 is even, above 1 there are hubs
    sentences: int
    alignment: float = float("nan")  # mean squared distance of positive pairs, if they are known


def geometry(vectors: NDArray[Any]) -> Geometry:
    """Measure vectors (sentence, width)."""
    known = unit(vectors)
    count = len(known)
    if count < 2:
        missing = float("nan")
        return Geometry(missing, missing, missing, missing, missing, count)
    # the sum of all cosines is the squared length of the sum of all vectors
    total = known.sum(0, dtype=np.float64)
    random_pairs = (float(total @ total) - count) / (count * (count - 1))
    variances = np.linalg.eigvalsh(np.cov(known.T, dtype=np.float64)) if known.shape[1] > 1 else np.ones(1)
    spread = variances.sum()
    one_point = spread <= SAME_VECTOR**2  # all vectors are equal, except for rounding
    first, three = (float("nan") if one_point else float(variances[-few:].sum() / spread) for few in (1, 3))
    potential, chosen = 0.0, np.zeros(count)
    nearest = min(NEIGHBOURS, count - 1)
    for start in range(0, count, _ROWS):
        cosines = known[start : start + _ROWS] @ known.T
        own = np.arange(start, start + len(cosines))
        cosines[np.arange(len(cosines)), own] = -np.inf
        top = np.argpartition(-cosines, nearest - 1, axis=1)[:, :nearest]
        np.add.at(chosen, top.ravel(), 1)
        cosines[np.arange(len(cosines)), own] = 1.0
        potential += float(np.exp(4 * cosines.astype(np.float64) - 4).sum()) - len(cosines)  # d² = 2 - 2 cos
    uniformity = float(np.log(potential / (count * (count - 1))))
    centred = chosen - chosen.mean()
    deviation = float(np.sqrt((centred**2).mean()))
    skewness = float((centred**3).mean() / deviation**3) if deviation > 0 else 0.0
    return Geometry(random_pairs, first, three, uniformity, float("nan") if one_point else skewness, count)


def alignment(first: NDArray[Any], second: NDArray[Any]) -> float:
    """Mean squared distance of positive pairs (pair, width) after normalisation; NaN without pairs."""
    if not len(first):
        return float("nan")
    return float((2 - 2 * (unit(first) * unit(second)).sum(1, dtype=np.float64)).mean())


def alike(one: NDArray[Any], other: NDArray[Any]) -> float:
    """Linear CKA (Kornblith and others 2019) of vectors (sentence, width), whose widths may differ.

    1 if one is a rotation, translation and scaling of the other; NaN if one side is constant.
    """
    exact = [side.astype(np.float64) for side in (one, other)]
    first, second = (side - side.mean(0) for side in exact)
    for side, centred in zip(exact, (first, second), strict=True):
        if np.square(centred).sum() <= SAME_VECTOR**2 * np.square(side).sum():  # equal, except for rounding
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


@dataclass(frozen=True, eq=False)
class Checkup:
    """The score × 100 on the dev set, and the geometry of Wang and Isola 2020; NaN if undefined."""

    score: float
    alignment: float  # mean squared distance of positive pairs; lower is closer
    uniformity: float  # log of the mean Gaussian potential of random pairs; lower is more spread out
    alike: float  # similarity of positive pairs: their mean cosine
    random_pairs: float  # similarity of random pairs: mean cosine of two probe sentences
    probe: NDArray[np.float16]  # (sentence, width)
    layers: NDArray[np.float32] | None = None  # (query layer, key layer), if there is a pooler
    items: Floats | None = None  # what each item of the set gets
    every_layer: float | None = None  # the mean score × 100 of the vectors of every layer, if all are trained


def probe_places(texts: Sequence[str]) -> NDArray[np.intp]:
    """The positions of the probe sentences, spread evenly over the texts of the set."""
    return np.linspace(0, len(texts) - 1, min(PROBE, len(texts))).astype(np.intp)


def checkup(
    judge: Judge, vectors: Tensor, layers: NDArray[np.float32] | None = None, precision: str = "float32"
) -> Checkup:
    """Evaluate the vectors (text, width) of the judge's texts, computed in that precision.

    `layers` are the mean weights of their pooler.
    """
    import torch

    known = torch.nn.functional.normalize(vectors.float(), dim=-1, eps=1e-8)
    cosines = judge.alike(vectors)
    probe = known[probe_places(judge.texts)]
    apart = (probe @ probe.T)[*torch.triu_indices(len(probe), len(probe), offset=1)]
    items = judge.items(vectors)
    return Checkup(
        score=judge.score(items, precision),
        alignment=float((2 - 2 * cosines).mean()) if len(cosines) else float("nan"),
        uniformity=float((-2 * (2 - 2 * apart)).exp().mean().log()),
        alike=float(cosines.mean()) if len(cosines) else float("nan"),
        random_pairs=float(apart.mean()),
        probe=probe.half().numpy(),
        layers=layers,
        items=items,
    )
