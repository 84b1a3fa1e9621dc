"""The share of each concatenated part of a head in a sentence's vector."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

    from explorer.encoding.read.encoder import States
    from explorer.encoding.read.head import Head


def parts_of(head: Head) -> tuple[str, ...]:
    """The names of the parts, in order."""
    from explorer.encoding.read.pooling import POOLINGS
    from explorer.encoding.read.readings import FIRST_LAST

    named = {name: f"{name} of the last layer" for name in POOLINGS} | {FIRST_LAST: "mean of layers 1 and last"}
    # a pooling of other layers names them itself
    attention = ["attention over layers"] if head.attention else []
    return (*(named.get(name, name) for name in head.poolings), *attention)


def from_parts(head: Head, states: States) -> tuple[Tensor, Tensor]:
    """Shares and cosines (sentence, part).

    With x the concatenated parts, x_p the same with all but part p zero, and W the first dense layer (none: the
    identity), z = W x + b is the sum of all W x_p and b; the share of p is W x_p · z / z · z. The shares and that of
    the bias sum to 1; a part that points against the vector has a negative share.
    """
    import torch
    from torch.nn import functional

    from explorer.encoding.read.head import Dense
    from explorer.encoding.read.pooling import pooled

    parts = [pooled(name, states.hidden, states.mask) for name in head.poolings]
    if head.layers:
        parts.append(head.layers(states.hidden, states.mask))
    first = head.dense[0] if head.dense and isinstance(head.dense[0], Dense) else None

    def side_by_side(kept: Iterable[int]) -> Tensor:
        return torch.cat([part if at in kept else torch.zeros_like(part) for at, part in enumerate(parts)], dim=-1)

    def vector(joined: Tensor) -> Tensor:
        for step in head.dense:
            joined = step(joined)
        return joined

    def mapped(joined: Tensor, bias: bool) -> Tensor:
        if first is None:
            return joined
        return functional.linear(joined, first.weight, first.bias if bias else None)

    every = set(range(len(parts)))
    whole, summed = vector(side_by_side(every)), mapped(side_by_side(every), bias=True)
    shares = [(mapped(side_by_side({at}), bias=False) * summed).sum(-1) / (summed * summed).sum(-1) for at in every]
    without = [functional.cosine_similarity(vector(side_by_side(every - {at})), whole, dim=-1) for at in every]
    return torch.stack(shares, dim=-1), torch.stack(without, dim=-1)
