"""AdamW, with and without bias correction, and a learning rate that warms up linearly and then decays towards zero."""

import math
from collections.abc import Callable
from typing import Any

import torch

Group = dict[str, Any]  # of a torch optimiser: "params" and their settings

UPDATE = "update"  # in every group: the number of the update, counted from 0


class UncorrectedAdamW(torch.optim.AdamW):
    """AdamW without bias correction, as in BERT's first code.

    The update is rate × (m / (√v + ε) + decay × w), where torch divides m and v by 1 - β^t first. The number of the
    update is read from the group: torch counts it too, but on a GPU that would have to be waited for.
    """

    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]  # torch states it twice
        """Make an update; rate, ε and weight decay of the groups stay as they are set."""
        asked = [{name: group[name] for name in ("lr", "eps", "weight_decay")} for group in self.param_groups]
        for group in self.param_groups:
            one, two = group["betas"]
            first, second = 1 - one ** (group[UPDATE] + 1), math.sqrt(1 - two ** (group[UPDATE] + 1))
            group["lr"] *= first / second
            group["eps"] /= second
            group["weight_decay"] *= second / first
        found: float | None = super().step(closure)
        for group, settings in zip(self.param_groups, asked, strict=True):
            group.update(settings)
        return found


def adamw(
    groups: list[Group], rate: float, beta2: float = 0.999, epsilon: float = 1e-8, corrected: bool = True
) -> torch.optim.Optimizer:
    """AdamW over groups of weights, each with its weight decay."""
    kind = torch.optim.AdamW if corrected else UncorrectedAdamW
    return kind(groups, lr=rate, betas=(0.9, beta2), eps=epsilon, fused=True)  # fused: one pass over the weights


def learning_rate(step: int, peak: float, warmup: int, total: int, decay: str = "linear") -> float:
    """The learning rate of an update, counted from 0: linear warmup over `warmup` updates, linear decay to `total`.

    The last update of the warmup has the peak; the schedule of transformers has a rate of 0 in the first one.
    """
    if step < warmup:
        return peak * (step + 1) / warmup
    if decay == "none":
        return peak
    return peak * (total - step) / max(1, total - warmup)
