"""Whitening: transform vectors so that their covariance is the identity; the encoder is not changed.

Su, Cao, Liu and Ou 2021, equations 3 to 9: y = (x - mean) U Lambda^(-1/2), with the covariance of all training
sentences. The paper's rows with fewer dimensions keep 256 for BERT-base and 384 for BERT-large.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from explorer.encoding.read.head import Dense, Head
from explorer.errors import BadChoice
from explorer.methods import Schedule, _papers, knob
from explorer.methods._after import After
from explorer.progress import Work

_FLAT = 1e-10  # of the largest variance: directions with less hold only rounding errors


class Whitening(After):
    """A closed form; exported as a linear map and normalisation, which every library supports."""

    when_to_use = "To map [CLS] or a weak layer in seconds, without training; a tuned layer gained nothing."
    paper = _papers.WHITENING
    schedule = Schedule()

    dimensions: int = knob(
        0, low=0, front=True, help="Dimensions to keep, those with the most variance first; 0: all with any variance."
    )

    turned: Tensor
    moved: Tensor

    def build(self) -> None:
        """Allocate the map."""
        super().build()
        width = self.unmapped_width()
        if self.dimensions > width:
            raise BadChoice(
                f"dimensions cannot be {self.dimensions}: the vectors have {width}. Choose 1 to {width}, or 0 for all."
            )
        self.register_buffer("turned", torch.zeros(width, width))
        self.register_buffer("moved", torch.zeros(width))

    def fit(self, sentences: Sequence[str]) -> Work[None]:
        """Compute mean and covariance of all sentences, in float64."""
        vectors = (yield from self.unmapped(sentences)).double()
        mean = vectors.mean(0)
        directions, variances = principal(vectors - mean)
        # layer norm puts vectors in a plane: one direction holds only rounding errors
        reached = int((variances > _FLAT * variances[0]).sum())
        kept = self.dimensions or reached
        if not 0 < kept <= reached:
            raise BadChoice(
                f"The {len(vectors):,} sentences vary in {reached} directions only, but {max(kept, 1)} are to be "
                "kept. Set "
                f"dimensions to {reached} or less, or use more sentences that differ."
            )
        turned = (directions[:, :kept] / variances[:kept].sqrt()).T
        self.turned.resize_(turned.shape).copy_(turned)
        self.moved.resize_(kept).copy_(-(turned @ mean))

    def head(self) -> Head:
        """The layer & pooling, followed by the map and normalisation."""
        base = self.read_as
        return Head(base.poolings, (*base.dense, Dense(self.turned, self.moved, "Identity")), True, layers=base.layers)


def principal(vectors: Tensor) -> tuple[Tensor, Tensor]:
    """Directions (width, direction) and variances of centred vectors (sentence, width), largest variance first."""
    covariance = vectors.T @ vectors / (len(vectors) - 1)
    variances, directions = torch.linalg.eigh(covariance)
    return directions.flip(1), variances.flip(0).clamp_min(0)
