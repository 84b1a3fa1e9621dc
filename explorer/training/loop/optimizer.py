"""AdamW, with a learning rate that warms up linearly and then decays to zero."""

from __future__ import annotations

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


def adamw(module: nn.Module, schedule: Schedule) -> torch.optim.AdamW:
    """AdamW over the trained weights, without weight decay for biases and norms (one axis)."""
    trained = [weight for weight in module.parameters() if weight.requires_grad]
    groups = [
        {"params": [weight for weight in trained if weight.dim() > 1], "weight_decay": schedule.weight_decay},
        {"params": [weight for weight in trained if weight.dim() <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(
        [group for group in groups if group["params"]],
        lr=schedule.learning_rate,
        betas=(0.9, schedule.beta2),
        eps=schedule.epsilon,
        fused=True,  # one pass over the weights
    )
