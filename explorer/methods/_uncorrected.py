"""Base of the methods whose published code has Adam without bias correction."""

from __future__ import annotations

import torch

from explorer.methods import Method, Schedule, knob
from explorer.optimizers import Group, adamw


class Uncorrected(Method):
    """AdamW with bias correction, or without."""

    uncorrected_adam: bool = knob(
        False,
        help="AdamW without bias correction, as in the published code: early steps are up to 6.6 times as large, late "
        "ones the same.",
    )

    def make_optimizer(self, groups: list[Group], schedule: Schedule) -> torch.optim.Optimizer:
        """AdamW with the settings of the schedule."""
        corrected = not self.uncorrected_adam
        return adamw(groups, schedule.learning_rate, schedule.beta2, schedule.epsilon, corrected)
