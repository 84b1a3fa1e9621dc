"""SimCSE without labels: a sentence read under two dropout masks should find itself in the batch.

Gao, Yao and Chen 2021, equation 4. The dense layer over [CLS] serves training only (section 6.3); knobs as in their
appendix A and Table D.1 for BERT-base.
"""

from __future__ import annotations

from torch import Tensor

from explorer.gathering import gathered
from explorer.losses import info_nce
from explorer.methods import Schedule
from explorer.methods._simcse import SimCSEMethod


class SimCSE(SimCSEMethod):
    """Dropout is the only noise, so an encoder without dropout learns nothing here."""

    eats = "sentences"
    keeps_head = False
    training_only = ("dense",)
    schedule = Schedule(batch_size=64, learning_rate=3e-5, max_length=32, evaluate_every=125)

    def loss(self, *columns: list[str]) -> Tensor:
        """Each sentence twice in one batch, each time with its own dropout."""
        (sentences,) = columns
        one, other = self.projected(sentences + sentences).chunk(2)
        one, other = gathered(one), gathered(other)
        self.watch(one, other)
        return info_nce(one, other, self.temperature)
