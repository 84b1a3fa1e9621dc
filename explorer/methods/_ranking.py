"""What plain contrastive learning on pairs and on triplets share: multiple-negatives ranking without a head.

Batch, rate and warm-up are Strata's choice; the paper trains another encoder.
"""

from __future__ import annotations

import torch
from torch import Tensor

from explorer.gathering import gathered, text_keys
from explorer.losses import ranking
from explorer.methods import Schedule, _papers, knob
from explorer.methods._pooled import Pooled, pooling_knob


class Ranked(Pooled):
    """Cross-entropy of cosines over a temperature; a sentence of the same row is never a negative."""

    paper = _papers.SMART_REPLY
    as_published = False
    schedule = Schedule(batch_size=32, learning_rate=2e-5, max_length=128, warmup=0.1)

    temperature: float = knob(
        0.05,
        low=0.001,
        high=1.0,
        front=True,
        help="Cosines are divided by it; lower makes near misses cost more. 1 / temperature is the scale of "
        "sentence-transformers, whose default of 20 is this default of 0.05.",
    )
    symmetric: bool = knob(
        False,
        front=True,
        help="Also find the anchor given its positive, and take the mean of both directions. In this direction the "
        "negatives are the other anchors of the batch.",
    )
    dropout: bool = knob(
        True,
        help="Dropout in the encoder while it is trained. Without it, differences smaller than those that dropout "
        "makes can be learned, such as exchanged roles.",
    )
    pooling: str = pooling_knob()

    def train(self, mode: bool = True) -> Ranked:
        """Switch to training, with the encoder's dropout only where it is chosen."""
        super().train(mode)
        self.base.train(mode and self.dropout)
        return self

    def loss(self, *columns: list[str]) -> Tensor:
        """All columns in one pass; the first two belong together, the third is a hard negative."""
        together = self.encoded([text for column in columns for text in column])
        sides = [gathered(side) for side in together.chunk(len(columns))]
        keys = torch.stack([text_keys(column, together.device) for column in columns])
        self.watch(sides[0], sides[1])
        return ranking(sides[0], torch.cat(sides[1:]), self.temperature, self.symmetric, *duplicates(keys))


def duplicates(keys: Tensor) -> tuple[Tensor, Tensor]:
    """Which sentences are no negatives, by numbers (column, row) that are equal where texts are.

    The first mask is (anchor, candidate), with the positives of all rows before their hard negatives; the second is
    (positive, anchor). A row that shares its anchor or its positive with another gives that one no negatives from
    these two columns. Any other text counts once: a hard negative that several rows have, and none that is the
    anchor or the positive itself.
    """
    anchor, positive, *negatives = keys
    others = ~torch.eye(len(anchor), dtype=torch.bool, device=keys.device)
    shared = torch.stack([_equal(one, other) for one in (anchor, positive) for other in (anchor, positive)]).any(0)
    shared &= others
    masks = [shared.clone()]
    for negative in negatives:
        masks[0] |= _equal(negative, positive) & others
        masks.append(_equal(anchor, negative) | _equal(positive, negative) | (_equal(negative, negative) & others))
    return torch.cat(masks, dim=1), shared


def _equal(one: Tensor, other: Tensor) -> Tensor:
    """(row of one, row of the other)."""
    return one[:, None] == other[None, :]
