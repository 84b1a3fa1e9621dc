"""Fast dropout on a processor: one 64-bit random number gives four 16-bit ones."""

from __future__ import annotations

import torch
from torch import Tensor, nn

_VALUES = 2**16


class Dropout(nn.Dropout):
    """nn.Dropout with faster random numbers: torch's take a fifth of a training step on a processor."""

    def forward(self, input: Tensor) -> Tensor:
        """Set each number to zero with probability p and scale the rest; outside training, change nothing."""
        if input.device.type != "cpu" or not self.training or not 0 < self.p < 1:
            return super().forward(input)
        drawn = torch.empty(-(-input.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
        numbers = drawn.view(torch.int16)[: input.numel()].view(input.shape)
        kept = numbers >= round(self.p * _VALUES) - _VALUES // 2
        return input * kept.to(input.dtype).div_(1 - self.p)


def quicken(module: nn.Module) -> None:
    """Replace torch's dropout in a module by the fast one."""
    for parent in list(module.modules()):
        for name, child in parent.named_children():
            if type(child) is nn.Dropout and not child.inplace:
                setattr(parent, name, Dropout(child.p).train(child.training))
