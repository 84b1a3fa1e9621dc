"""Evaluate one layer & pooling during training: Spearman, alignment, uniformity and probe vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explorer.data.kinds import GradedPairs
from explorer.measuring.scores.correlation import measured, spearman
from explorer.measuring.scores.pair_cosines import exact_cosines

if TYPE_CHECKING:
    from torch import Tensor

# sentences whose vectors are saved at each evaluation, for the Replay page
PROBE = 300


@dataclass(frozen=True, eq=False)
class Checkup:
    """Spearman × 100 with gold scores, and the geometry of Wang and Isola 2020; NaN if undefined."""

    spearman: float
    alignment: float  # mean squared distance of positive pairs; lower is closer
    uniformity: float  # log of the mean Gaussian potential of random pairs; lower is more spread out
    alike: float  # similarity of positive pairs: their mean cosine
    strangers: float  # similarity of random pairs: mean cosine of two probe sentences
    probe: NDArray[np.float16]  # (sentence, width)
    layers: NDArray[np.float32] | None = None  # (query layer, key layer), if there is a pooler


def probe_places(pairs: GradedPairs) -> NDArray[np.intp]:
    """The positions of the probe sentences, spread evenly over the set."""
    count = min(PROBE, len(pairs.sentences))
    return np.linspace(0, len(pairs.sentences) - 1, count).astype(np.intp)


def checkup(
    pairs: GradedPairs, vectors: Tensor, layers: NDArray[np.float32] | None = None, precision: str = "float32"
) -> Checkup:
    """Evaluate the vectors (sentence, width) of `pairs.sentences`, computed in that precision.

    `layers` are the mean weights of their pooler.
    """
    import torch

    unit = torch.nn.functional.normalize(vectors.float(), dim=-1, eps=1e-8)
    cosines = exact_cosines(vectors, *map(np.array, pairs.places))
    gold = np.array(pairs.gold)
    # the threshold of the papers: 4 on a scale from 0 to 5
    alike = cosines[gold >= gold.min() + 0.8 * (gold.max() - gold.min())]
    probe = unit[probe_places(pairs)]
    apart = (probe @ probe.T)[*torch.triu_indices(len(probe), len(probe), offset=1)]
    return Checkup(
        spearman=float(spearman(gold, measured(cosines, precision))) * 100,
        alignment=float((2 - 2 * alike).mean()) if len(alike) else float("nan"),
        uniformity=float((-2 * (2 - 2 * apart)).exp().mean().log()),
        alike=float(alike.mean()) if len(alike) else float("nan"),
        strangers=float(apart.mean()),
        probe=probe.half().numpy(),
        layers=layers,
    )
