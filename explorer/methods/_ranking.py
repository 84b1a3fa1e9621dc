"""Base of plain contrastive learning on pairs and triplets: multiple-negatives ranking without a head.

Batch size, learning rate and warmup are Strata's choice; the paper trains another encoder.
"""

from __future__ import annotations

import torch
from torch import Tensor

from explorer.gathering import gathered, text_keys
from explorer.losses import ranking
from explorer.methods import Schedule, _papers, knob
from explorer.methods._pooled import Pooled, pooling_knob
from explorer.methods._sampling import NoDuplicates, Sampler


class Ranked(Pooled):
    """Cross-entropy of cosines divided by a temperature; sentences of the same row are never negatives."""

    paper = _papers.SMART_REPLY
    as_published = False
    schedule = Schedule(batch_size=32, learning_rate=2e-5, max_length=128, warmup=0.1)

    temperature: float = knob(
        0.05,
        low=0.001,
        high=1.0,
        front=True,
        help="Cosines are divided by it; lower penalises close negatives more. 1 / temperature is the scale of "
        "sentence-transformers, whose default of 20 is this default of 0.05.",
    )
    symmetric: bool = knob(
        False,
        front=True,
        help="Also classify the anchor given its positive, and average both directions. In this direction the "
        "negatives are the other anchors of the batch.",
    )
    dropout: bool = knob(
        True,
        help="Use the encoder's dropout in training. Without it, the model can learn differences smaller than the "
        "noise of dropout, such as swapped roles.",
    )
    no_duplicates: bool = knob(
        False,
        help="Draw batches in which no text occurs twice, as the batch sampler NO_DUPLICATES of sentence-transformers: "
        "each row then has all others as negatives. off: rows are drawn at random, and a text that occurs twice is no "
        "negative of itself.",
    )
    pooling: str = pooling_knob()

    def sampler(self) -> Sampler:
        """Rows in random order, without a text twice in a batch if that is set."""
        return NoDuplicates() if self.no_duplicates else Sampler()

    def train(self, mode: bool = True) -> Ranked:
        """Switch to training, with the encoder's dropout only if it is set."""
        super().train(mode)
        self.base.train(mode and self.dropout)
        return self

    def loss(self, *columns: list[str]) -> Tensor:
        """The loss of all columns in one pass: the first two are positive pairs, the third holds hard negatives."""
        together = self.encoded([text for column in columns for text in column])
        sides = [gathered(side) for side in together.chunk(len(columns))]
        keys = torch.stack([text_keys(column, together.device) for column in columns])
        self.watch(sides[0], sides[1])
        return ranking(sides[0], torch.cat(sides[1:]), self.temperature, self.symmetric, *duplicates(keys))


def duplicates(keys: Tensor) -> tuple[Tensor, Tensor]:
    """Masks of sentences that are no negatives, from numbers (column, row) that are equal for equal texts.

    The first mask is (anchor, candidate), with the positives of all rows before their hard negatives; the second is
    (positive, anchor). Rows that share an anchor or a positive give each other no negatives from these two
    columns. Any other text counts once: a hard negative of several rows is used once, and none that equals the anchor
    or the positive.
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
