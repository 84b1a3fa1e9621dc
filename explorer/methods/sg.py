"""Self-guided contrast (SG): train a vector to match a layer of a frozen copy of the encoder.

L_base of Kim, Yoo and Lee 2021 (equations 1 to 4): NT-Xent between the trained copy's vector ([CLS] in the paper) and
one randomly drawn layer of the frozen copy, both through one projection head, plus λ times the squared distance to the
starting weights. The settings are those of section 4.1 and of the ablations in Table 5.
"""

from __future__ import annotations

from torch import Tensor

from explorer import losses
from explorer.data.row_kinds import SENTENCES
from explorer.methods._self_guided import SelfGuided


class SG(SelfGuided):
    """Both sides are anchors, and everything else in the batch is a negative."""

    when_to_use = "Only sentences, and [CLS] must be the vector: there the self-guided methods gain most."
    eats = SENTENCES

    def contrast(self, tuned: Tensor, views: Tensor) -> Tensor:
        """Compute NT-Xent over the 2b vectors."""
        return losses.nt_xent(*self.sides(tuned, self.sampled(views)), self.temperature)
