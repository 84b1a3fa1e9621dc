"""Base of the methods with a momentum copy: an encoder without gradients that follows the trained one."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from explorer.encoding.read.head import Head
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
    """Move the weights of some modules towards those of others: momentum × theirs + (1 - momentum) × the others'."""
    moved: list[Tensor] = [weight for module in follows for weight in module.parameters()]
    towards: list[Tensor] = [weight for module in own for weight in module.parameters()]
    torch._foreach_lerp_(moved, towards, 1 - momentum)
