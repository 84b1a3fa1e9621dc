"""SG-OPT: self-guided learning in which only the trained copy anchors, with every layer as a view.

Kim, Yoo and Lee 2021, section 3.3. L_opt1 lets only the trained copy anchor, L_opt2 also drops its other vectors from
the negatives, L_opt3 takes all layers of the frozen copy instead of one drawn at random. SG-OPT is L_opt3; the others
are rows of Table 5.
"""

from __future__ import annotations

from torch import Tensor

from explorer import losses
from explorer.methods import knob
from explorer.methods._self_guided import SelfGuided


class SGOpt(SelfGuided):
    """The objective optimised in three steps; the third is the method."""

    eats = "sentences"

    objective: str = knob(
        "opt3", choices=("opt1", "opt2", "opt3"), front=True, help="Which step of the optimisation; SG-OPT is opt3."
    )

    def contrast(self, tuned: Tensor, views: Tensor) -> Tensor:
        """The objective that is chosen."""
        if self.objective == "opt3":
            return losses.self_guided_3(*self.sides(tuned, views), self.temperature)
        formula = losses.self_guided_1 if self.objective == "opt1" else losses.self_guided_2
        return formula(*self.sides(tuned, self.sampled(views)), self.temperature)
