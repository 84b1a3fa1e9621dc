"""How does dropout cost little on a processor? Four numbers of 16 bits come with each that is drawn."""

from __future__ import annotations

import torch
from torch import Tensor, nn

_VALUES = 2**16


class Dropout(nn.Dropout):
    """nn.Dropout, whose draws are a fifth of a step on a processor: torch draws them one by one there."""

    def forward(self, input: Tensor) -> Tensor:
        """Each number at zero with the chance p, else raised so that the mean stays; outside training as it is."""
        if input.device.type != "cpu" or not self.training or not 0 < self.p < 1:
            return super().forward(input)
        drawn = torch.empty(-(-input.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
        numbers = drawn.view(torch.int16)[: input.numel()].view(input.shape)
        kept = numbers >= round(self.p * _VALUES) - _VALUES // 2
        return input * kept.to(input.dtype).div_(1 - self.p)


def quicken(module: nn.Module) -> None:
    """Take the quick dropout wherever the module has torch's."""
    for parent in list(module.modules()):
        for name, child in parent.named_children():
            if type(child) is nn.Dropout and not child.inplace:
                setattr(parent, name, Dropout(child.p).train(child.training))
