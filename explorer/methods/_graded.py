"""Base of the methods that train on scored pairs: a loss of each pair's cosine and score.

Learning rate and warmup are those of Sentence-BERT; the batch size is Strata's choice.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from explorer.data.row_kinds import SCORED_PAIRS
from explorer.gathering import gathered
from explorer.losses import paired_cosines
from explorer.methods import Schedule
from explorer.methods._pooled import Pooled, pooling_knob


class Graded(Pooled):
    """A loss of cosines and scores, without a head."""

    eats = SCORED_PAIRS
    as_published = False
    schedule = Schedule(batch_size=32, learning_rate=2e-5, max_length=128, warmup=0.1)

    pooling: str = pooling_knob()

    def compared(self, cosine: Tensor, score: Tensor) -> Tensor:
        """The loss of the cosines of pairs and their scores from 0 to 1."""
        raise NotImplementedError

    def loss(self, *columns: Any) -> Tensor:
        """First and second sentences in one pass, with their scores, of all processes."""
        first, second, scores = columns
        one, other = (gathered(side) for side in self.encoded([*first, *second]).chunk(2))
        self.watch(one, other)
        gold = torch.tensor(scores).to(one.device, non_blocking=True)  # given a device, torch.tensor waits for it
        return self.compared(paired_cosines(one, other), gathered(gold))
