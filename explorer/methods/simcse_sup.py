"""SimCSE on pairs: a sentence should find the one that follows from it among those of the batch.

Gao, Yao and Chen 2021, section 4: premise and entailed hypothesis, the others of the batch as negatives. The dense
layer is part of the encoder afterwards.
"""

from __future__ import annotations

from torch import Tensor

from explorer.gathering import gathered
from explorer.losses import info_nce
from explorer.methods import Schedule
from explorer.methods._simcse import SimCSEMethod


class SimCSEPairs(SimCSEMethod):
    """Negatives come from the batch alone."""

    eats = "pairs"
    keeps_head = True
    schedule = Schedule(batch_size=512, learning_rate=5e-5, max_length=32, epochs=3, evaluate_every=125)

    def loss(self, *columns: list[str]) -> Tensor:
        """First and second sentences in one pass."""
        first, second = columns
        one, other = self.projected(first + second).chunk(2)
        one, other = gathered(one), gathered(other)
        self.watch(one, other)
        return info_nce(one, other, self.temperature)
