"""Pooling functions: token states to one vector per sentence.

Every pooling takes states (sentence, token, width) and a mask (sentence, token) that is true for real tokens, and
returns float32 vectors (sentence, width). Padding is on the right. A mask of None means no padding, which saves a pass
over the states.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from explorer.encoding.read.readings import layers_of

Pooling = Callable[[Tensor, Tensor | None], Tensor]


def pool_cls(states: Tensor, mask: Tensor | None) -> Tensor:
    """The first token: [CLS] if the model has one."""
    return states[:, 0].float()


def pool_mean(states: Tensor, mask: Tensor | None) -> Tensor:
    """The mean over real tokens, [CLS] and [SEP] included."""
    if mask is None:
        return states.float().mean(1)
    return _filled(states, mask, 0.0).sum(1) / mask.sum(1, keepdim=True)


def pool_max(states: Tensor, mask: Tensor | None) -> Tensor:
    """The largest value of each dimension over real tokens."""
    # not zero: hidden values are often negative
    real = states.float() if mask is None else _filled(states, mask, float("-inf"))
    return real.amax(1)


def pool_last(states: Tensor, mask: Tensor | None) -> Tensor:
    """The last real token: the only one that depends on all tokens in a decoder."""
    if mask is None:
        return states[:, -1].float()
    last = mask.sum(1).long() - 1
    return states[torch.arange(len(states), device=states.device), last].float()


def pool_weighted_mean(states: Tensor, mask: Tensor | None) -> Tensor:
    """The mean with weights 1, 2, 3, … along the sentence (SGPT, Muennighoff 2022)."""
    sentences, tokens = states.shape[:2]
    places = torch.arange(1, tokens + 1, device=states.device, dtype=torch.float32).expand(sentences, tokens)
    weights = places if mask is None else places * mask
    real = states.float() if mask is None else _filled(states, mask, 0.0)
    pooled: Tensor = torch.einsum("stw,st->sw", real, weights) / weights.sum(1, keepdim=True)
    return pooled


def pool_sqrt_mean(states: Tensor, mask: Tensor | None) -> Tensor:
    """The sum over real tokens, divided by the root of their number."""
    if mask is None:
        return states.float().sum(1) / math.sqrt(states.shape[1])
    return _filled(states, mask, 0.0).sum(1) / mask.sum(1, keepdim=True).sqrt()


def _filled(states: Tensor, mask: Tensor, value: float) -> Tensor:
    """States in float32 with one value for padding, whatever it held."""
    padding = ~mask.bool()
    if states.device.type != "cpu" or not torch.is_inference_mode_enabled():
        return states.float().masked_fill(padding[:, :, None], value)  # training never waits for a count of tokens
    # whole tokens at once: one number after another, as `masked_fill` does, takes a processor three times as long
    tokens = states.float().flatten(0, 1).index_fill(0, padding.flatten().nonzero()[:, 0], value)
    return tokens.view(states.shape)


POOLINGS: dict[str, Pooling] = {
    "cls": pool_cls,
    "mean": pool_mean,
    "max": pool_max,
    "last": pool_last,
    "weighted mean": pool_weighted_mean,
    "sqrt mean": pool_sqrt_mean,
}


def pooled(name: str, hidden: Sequence[Tensor] | Tensor, mask: Tensor | None) -> Tensor:
    """Pool states (layer, sentence, token, width): the last layer, or the layers that the pooling names."""
    pooling, layers = layers_of(name)
    if max(layers) >= len(hidden):
        raise ValueError(f"there is no layer {max(layers)}; the last is {len(hidden) - 1}")
    states = [hidden[layer] for layer in layers]
    if len(states) > 1:  # bfloat16 would round the sum
        states[0] = states[0].float()
    # layers are added token by token as in the papers, and the sum is divided after pooling
    return POOLINGS[pooling](sum(states[1:], states[0]), mask) / len(states)


def is_pooling(name: object) -> bool:
    """Whether `pooled` supports the name, in a model with enough layers."""
    pooling, layers = layers_of(str(name))
    return pooling in POOLINGS and bool(layers)
