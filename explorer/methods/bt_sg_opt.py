"""BT + SG-OPT: the original goes to the trained copy, its back-translation to the frozen one.

Kim, Yoo and Lee 2021, section 6: L_opt3 with the views of the back-translated sentence.
"""

from __future__ import annotations

import torch
from torch import Tensor

from explorer import losses
from explorer.methods import knob
from explorer.methods._self_guided import SelfGuided


class BackTranslationSGOpt(SelfGuided):
    """SG-OPT whose guide reads another wording."""

    eats = "back-translations"

    both_views: bool = knob(
        False, help="The frozen copy reads the original too, which makes twice as many views (an idea of the release)."
    )

    def loss(self, *columns: list[str]) -> Tensor:
        """L_opt3 of sentences with the views of their back-translations, and the pull back to the start."""
        sentences, translated = columns
        views = self.views(translated)
        if self.both_views:
            views = torch.cat([self.views(sentences), views], dim=1)
        return losses.self_guided_3(*self.sides(self.tuned(sentences), views), self.temperature) + self.held()
