"""SimCSE on triplets: as on pairs, with a contradiction beside each sentence as a hard negative.

Gao, Yao and Chen 2021, equation 5. `weight` is added to the logit of one's own hard negative: 0 in SimCSE's code, 1 in
that of layer-wise attention pooling. The dense layer is part of the encoder afterwards.
"""

from __future__ import annotations

from torch import Tensor

from explorer.gathering import gathered
from explorer.losses import info_nce_hard
from explorer.methods import Schedule, knob
from explorer.methods._simcse import SimCSEMethod


class SimCSETriplets(SimCSEMethod):
    """Negatives come from the batch, and from the third column."""

    eats = "triplets"
    keeps_head = True
    schedule = Schedule(batch_size=512, learning_rate=5e-5, max_length=32, epochs=3, evaluate_every=125)

    weight: float = knob(
        0.0, low=-100.0, high=100.0, front=True, help="Added to the logit of one's own hard negative (SimCSE: 0)."
    )

    def loss(self, *columns: list[str]) -> Tensor:
        """Anchors, positives and negatives in one pass."""
        anchors, positives, negatives = columns
        sides = self.projected(anchors + positives + negatives).chunk(3)
        anchor, positive, negative = (gathered(side) for side in sides)
        self.watch(anchor, positive)
        return info_nce_hard(anchor, positive, negative, self.temperature, self.weight)
