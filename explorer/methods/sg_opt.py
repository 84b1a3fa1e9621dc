"""SG-OPT: self-guided learning with only the trained copy as anchor and every layer as a view.

Kim, Yoo and Lee 2021, section 3.3. L_opt1 uses only the trained copy as anchor, L_opt2 also drops its other vectors
from the negatives, L_opt3 uses all layers of the frozen copy instead of a random one. SG-OPT is L_opt3; the others
are rows of Table 5.
"""

from __future__ import annotations

from torch import Tensor

from explorer import losses
from explorer.data.row_kinds import SENTENCES
from explorer.methods import knob
from explorer.methods._self_guided import SelfGuided


class SGOpt(SelfGuided):
    """The three objectives of the paper; the third is the method."""

    when_to_use = "Only sentences, and [CLS] must be the vector; under the model default it gained, unlike SG."
    eats = SENTENCES

    objective: str = knob(
        "opt3", choices=("opt1", "opt2", "opt3"), front=True, help="Objective L_opt1, L_opt2 or L_opt3; SG-OPT is opt3."
    )

    def contrast(self, tuned: Tensor, views: Tensor) -> Tensor:
        """Compute the chosen objective."""
        if self.objective == "opt3":
            return losses.self_guided_3(*self.sides(tuned, views), self.temperature)
        formula = losses.self_guided_1 if self.objective == "opt1" else losses.self_guided_2
        return formula(*self.sides(tuned, self.sampled(views)), self.temperature)
