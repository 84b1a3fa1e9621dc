"""Contrastive learning with back-translations (BT): a sentence should find its own back-translation.

The baseline of Kim, Yoo and Lee 2021 (appendix A.2): NT-Xent as in SG, with the trained copy's vector of the
back-translation in place of the frozen copy's view. The frozen copy only holds the weights back (λ).
"""

from __future__ import annotations

from torch import Tensor

from explorer import losses
from explorer.methods import knob
from explorer.methods._self_guided import SelfGuided


class BackTranslation(SelfGuided):
    """Two views of one trained encoder, or with the frozen copy as the second reader."""

    eats = "back-translations"

    guided: bool = knob(
        False, help="Read back-translations with a layer of the frozen copy: 'identical to SG', taken by the letter."
    )

    def loss(self, *columns: list[str]) -> Tensor:
        """NT-Xent of sentences with their back-translations, and the pull back to the start."""
        sentences, translated = columns
        if self.guided:
            one, other = self.tuned(sentences), self.sampled(self.views(translated))
        else:  # in one pass: several processes that train together allow no second one before the gradients
            one, other = self.tuned(sentences + translated).chunk(2)
        return losses.nt_xent(*self.sides(one, other), self.temperature) + self.held()
