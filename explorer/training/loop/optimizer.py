"""AdamW, with a learning rate that warms up linearly and then decays to zero."""

from __future__ import annotations

import math

import torch
from torch import nn

from explorer.methods import Schedule


def learning_rate(step: int, peak: float, warmup: int, total: int, decay: str = "linear") -> float:
    """The learning rate of an update, counted from 0: linear warmup over `warmup` updates, linear decay to `total`."""
    if step < warmup:
        return peak * step / warmup
    if decay == "none":
        return peak
    return peak * (total - step) / max(1, total - warmup)


def uncorrect(optimizer: torch.optim.AdamW, step: int, rate: float, schedule: Schedule) -> None:
    """Set rate, ε and weight decay so that an update, counted from 0, is that of Adam without bias correction.

    The update is rate × (m / (√v + ε) + decay × w), where torch divides m and v by 1 - β^t first.
    """
    first, second = 1 - 0.9 ** (step + 1), math.sqrt(1 - schedule.beta2 ** (step + 1))
    for group in optimizer.param_groups:
        group["lr"], group["eps"] = rate * first / second, schedule.epsilon / second
        group["weight_decay"] = schedule.weight_decay * second / first


def adamw(module: nn.Module, schedule: Schedule, decay_all: bool = False) -> torch.optim.AdamW:
    """AdamW over the trained weights, without weight decay for biases and norms (one axis) unless `decay_all`."""
    trained = [weight for weight in module.parameters() if weight.requires_grad]
    others = schedule.weight_decay if decay_all else 0.0
    groups = [
        {"params": [weight for weight in trained if weight.dim() > 1], "weight_decay": schedule.weight_decay},
        {"params": [weight for weight in trained if weight.dim() <= 1], "weight_decay": others},
    ]
    return torch.optim.AdamW(
        [group for group in groups if group["params"]],
        lr=schedule.learning_rate,
        betas=(0.9, schedule.beta2),
        eps=schedule.epsilon,
        fused=True,  # one pass over the weights
    )
