"""Back-translation (BT): contrast with a sentence and its back-translation as a positive pair.

The baseline of Kim, Yoo and Lee 2021 (appendix A.2): NT-Xent as in SG, with the trained copy's vector of the
back-translation instead of the frozen copy's view. The frozen copy is used for weight regularisation (λ) only.
"""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from explorer import losses
from explorer.data.row_kinds import BACK_TRANSLATIONS
from explorer.knobs import Values
from explorer.methods import knob
from explorer.methods._self_guided import SelfGuided


class BackTranslation(SelfGuided):
    """Both sides are encoded by the trained copy, or the back-translation by the frozen copy."""

    when_to_use = "Back-translations and the model default: a small gain; BT + SG-OPT gained more."
    eats = BACK_TRANSLATIONS

    released: ClassVar[Values] = {**SelfGuided.released, "guided": False}

    guided: bool = knob(
        False,
        paper=True,
        help="Encode back-translations with a layer of the frozen copy: the literal reading of 'identical to SG' in "
        "appendix A.2. off: with the trained copy, as the released code.",
    )

    def loss(self, *columns: list[str]) -> Tensor:
        """NT-Xent of sentences with their back-translations, plus weight regularisation."""
        sentences, translated = columns
        if self.guided:
            one, other = self.tuned(sentences), self.sampled(self.views(translated))
        else:  # in one pass: several processes allow no second one before the gradients
            one, other = self.tuned(sentences + translated).chunk(2)
        return losses.nt_xent(*self.sides(one, other), self.temperature) + self.held()
