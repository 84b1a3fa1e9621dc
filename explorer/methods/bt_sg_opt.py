"""BT + SG-OPT: the trained copy encodes the original, the frozen copy its back-translation.

Kim, Yoo and Lee 2021, section 6: L_opt3 with the views of the back-translated sentence. The released code takes
the views of the original; the line that joins both is commented out there.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from explorer import losses
from explorer.data.row_kinds import BACK_TRANSLATIONS
from explorer.knobs import Values
from explorer.methods import Suggestion, knob
from explorer.methods._self_guided import SelfGuided


class BackTranslationSGOpt(SelfGuided):
    """SG-OPT whose frozen copy encodes the back-translation."""

    when_to_use = "Back-translations and the model default: a gain like SG-OPT's, which needs none."
    eats = BACK_TRANSLATIONS
    suggestion = Suggestion("back-translations", 2, "of the methods on them it gained most")

    released: ClassVar[Values] = {**SelfGuided.released, "original_views": True}

    both_views: bool = knob(False, help="The frozen copy encodes the original too, which doubles the number of views.")
    original_views: bool = knob(
        False,
        help="The frozen copy encodes the original instead, as in the released code; back-translations are then not "
        "used. Ignored if both_views is on.",
    )

    def loss(self, *columns: list[str]) -> Tensor:
        """L_opt3 of sentences with the views of their back-translations, plus weight regularisation."""
        sentences, translated = columns
        views = self.views(sentences if self.original_views and not self.both_views else translated)
        if self.both_views:
            views = torch.cat([self.views(sentences), views], dim=1)
        return losses.self_guided_3(*self.sides(self.tuned(sentences), views), self.temperature) + self.held()
