"""Layer-wise attention pooling: attention over the pooled vectors of all layers.

Oh, Kim, Lee, Huang and Lim 2022, equations 1 to 3, as in the released code; where the paper's text differs there is a
setting. Every layer is pooled first; query and value can be pooled differently.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from explorer.encoding.locate import weights
from explorer.encoding.read.pooling import FUNCTIONS

ACTIVATIONS = ("rrelu", "none")
# softmax of q·k / N; q·k by the sum of its row, as equation 1 with two indices; or its diagonal by those, with one
NORMALISERS = ("softmax", "linear", "literal")
# RReLU's slopes: random in training, their mean otherwise
_LOWEST, _HIGHEST = 1 / 8, 1 / 3
_MAPS = ("query", "key", "value")


@dataclass(frozen=True, eq=False)
class LayerAttention:
    """The `query`, `key` and `value` maps, without bias: (width of the attention, width of the states).

    `noisy` uses random RReLU slopes, as in training.
    """

    words: ClassVar[str] = "attention over layers"
    saved_as: ClassVar[str] = "attention"
    title: ClassVar[str] = "attention over layers from {first_layer} (query {asks}, value {answers})"

    query: Tensor
    key: Tensor
    value: Tensor
    asks: str = "cls"
    answers: str = "mean"
    first_layer: int = 0
    activation: str = "rrelu"
    normaliser: str = "softmax"
    noisy: bool = False

    def __call__(self, hidden: Sequence[Tensor] | Tensor, mask: Tensor | None) -> Tensor:
        """Compute vectors (sentence, width) from states (layer, sentence, token, width)."""
        with torch.autocast(hidden[0].device.type, enabled=False):  # a quotient of few numbers needs float32
            answers = self._pooled(hidden, mask, self.answers)
            values = self._mapped(self.value, answers)
            weights = self._weights(self._pooled(hidden, mask, self.asks), answers)
            # (sentence, query layer, width), averaged over the query layers
            return torch.einsum("sqk,skw->sqw", weights, values).mean(1)

    def weights(self, hidden: Sequence[Tensor] | Tensor, mask: Tensor | None) -> Tensor:
        """The attention weights: (sentence, query layer, key layer)."""
        with torch.autocast(hidden[0].device.type, enabled=False):
            return self._weights(self._pooled(hidden, mask, self.asks), self._pooled(hidden, mask, self.answers))

    def width(self, states: int) -> int:
        """The width of the value map's output; that of the states does not matter."""
        return len(self.value)

    def to(self, device: str) -> LayerAttention:
        """A copy on a device."""
        return replace(self, query=self.query.to(device), key=self.key.to(device), value=self.value.to(device))

    def settings(self) -> dict[str, Any]:
        """Its settings, without the noise of training."""
        return {name: getattr(self, name) for name in _settings()}

    def tensors(self) -> dict[str, Tensor]:
        """Its maps."""
        return {name: getattr(self, name) for name in _MAPS}

    @classmethod
    def made(cls, settings: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> LayerAttention:
        """A pooling from its saved settings and weights."""
        return cls(**{**tensors, **settings})

    def _pooled(self, hidden: Sequence[Tensor] | Tensor, mask: Tensor | None, pooling: str) -> Tensor:
        pool = FUNCTIONS[pooling]
        return torch.stack([pool(states, mask) for states in hidden[self.first_layer :]], dim=1)  # (sentence, layer, …)

    def _mapped(self, weight: Tensor, vectors: Tensor) -> Tensor:
        mapped = functional.linear(vectors, weight)
        if self.activation == "none":
            return mapped
        return functional.rrelu(mapped, _LOWEST, _HIGHEST, training=self.noisy)

    def _weights(self, asking: Tensor, answering: Tensor) -> Tensor:
        layers = asking.shape[1]
        alike = torch.einsum("sqw,skw->sqk", self._mapped(self.query, asking), self._mapped(self.key, answering))
        if self.normaliser == "softmax":
            return (alike / layers).softmax(-1)
        shares = alike / alike.sum(-1, keepdim=True)
        if self.normaliser == "linear":
            return shares
        return shares.diagonal(dim1=1, dim2=2)[:, None].expand(-1, layers, -1)  # the same weights for every query layer


def _settings() -> list[str]:
    return [one.name for one in fields(LayerAttention) if one.name not in (*_MAPS, "noisy")]


def opened(place: Path, stated: object) -> LayerAttention | None:
    """The attention with these settings, and the maps in a folder."""
    poolings = tuple(FUNCTIONS)
    choices = {"asks": poolings, "answers": poolings, "activation": ACTIVATIONS, "normaliser": NORMALISERS}
    if not isinstance(stated, dict) or sorted(stated) != sorted(_settings()) or type(stated["first_layer"]) is not int:
        return None
    if any(stated[name] not in allowed for name, allowed in choices.items()):
        return None
    found = weights.of_module(place, "", _MAPS)
    return LayerAttention.made(stated, {name: found[name] for name in _MAPS})
