"""Evaluate one layer & pooling during training: score, alignment, uniformity and probe vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explorer.measuring.scores.judge import Judge

if TYPE_CHECKING:
    from torch import Tensor

# sentences whose vectors are saved at each evaluation, for the Replay page
PROBE = 300


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

    unit = torch.nn.functional.normalize(vectors.float(), dim=-1, eps=1e-8)
    alike = judge.alike(vectors)
    probe = unit[probe_places(judge.texts)]
    apart = (probe @ probe.T)[*torch.triu_indices(len(probe), len(probe), offset=1)]
    return Checkup(
        score=judge.score(judge.items(vectors), precision),
        alignment=float((2 - 2 * alike).mean()) if len(alike) else float("nan"),
        uniformity=float((-2 * (2 - 2 * apart)).exp().mean().log()),
        alike=float(alike.mean()) if len(alike) else float("nan"),
        random_pairs=float(apart.mean()),
        probe=probe.half().numpy(),
        layers=layers,
    )
