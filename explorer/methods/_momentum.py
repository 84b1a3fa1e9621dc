"""Base of the methods with a momentum copy: an encoder without gradients that follows the trained one."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from explorer.encoding.read.head import Head
from explorer.encoding.tune.lora import effective
from explorer.methods._pooled import Pooled


class Followed(Pooled):
    """A trained encoder, and a copy that moves a little towards it after each update."""

    compares_rows = False  # but for batch norm in training

    def build(self) -> None:
        """Copy the encoder."""
        self.target = self.base.frozen()

    def targets(self, sentences: list[str], head: Head) -> Tensor:
        """Vectors (sentence, width) of the copy."""
        with torch.no_grad():
            return self.encoded(sentences, head, copy=self.target)


@torch.no_grad()
def follow(follows: Iterable[nn.Module], own: Iterable[nn.Module], momentum: float) -> None:
    """Move the weights of some modules towards those of others: momentum × theirs + (1 - momentum) × the others'.

    With adapters, the others' weights are those that they compute with.
    """
    moved: list[Tensor] = []
    towards: list[Tensor] = []
    for module, other in zip(follows, own, strict=True):
        weights = effective(other)
        for name, weight in module.named_parameters():
            if weight is not weights[name]:  # a weight that adapters leave as it is may be one for both
                moved.append(weight)
                towards.append(weights[name])
    torch._foreach_lerp_(moved, towards, 1 - momentum)
