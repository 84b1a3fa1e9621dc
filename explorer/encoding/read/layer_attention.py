"""How do all layers of a sentence become one vector? Each layer asks every layer, and attention weighs the answers.

Layer-wise attention pooling (Oh, Kim, Lee, Huang and Lim 2022, equations 1 to 3) as its released code reads it; what
the paper's text says in another way is a setting. Every layer is pooled first: what asks and what answers may be
pooled differently.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional

from explorer.encoding.read.pooling import POOLINGS

ACTIVATIONS = ("rrelu", "none")
# softmax of q·k / N; q·k by the sum of its row, as equation 1 with two indices; or its diagonal by those, with one
NORMALISERS = ("softmax", "linear", "literal")
# RReLU's slopes: drawn for each number in training, their mean otherwise
_LOWEST, _HIGHEST = 1 / 8, 1 / 3


@dataclass(frozen=True, eq=False)
class LayerAttention:
    """What asks (`query`), what is asked (`key`) and what answers (`value`): maps (width, width) without bias.

    `noisy` draws RReLU's slopes, as in training.
    """

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
        """Layers of states (layer, sentence, token, width) as vectors (sentence, width)."""
        with torch.autocast(hidden[0].device.type, enabled=False):  # few numbers, and a quotient of them
            answers = self._pooled(hidden, mask, self.answers)
            told = self._mapped(self.value, answers)
            weights = self._weights(self._pooled(hidden, mask, self.asks), answers)
            # (sentence, layer that asks, width), and the mean over who asks; a row of the literal reading is all of it
            return torch.einsum("sqk,skw->sqw", weights, told).mean(1)

    def weights(self, hidden: Sequence[Tensor] | Tensor, mask: Tensor | None) -> Tensor:
        """How much each layer listens to which: (sentence, layer that asks, layer that answers)."""
        with torch.autocast(hidden[0].device.type, enabled=False):
            return self._weights(self._pooled(hidden, mask, self.asks), self._pooled(hidden, mask, self.answers))

    def describe(self) -> str:
        """`attention over layers from 0 (cls asks, mean answers)`."""
        return f"attention over layers from {self.first_layer} ({self.asks} asks, {self.answers} answers)"

    def to(self, device: str) -> LayerAttention:
        """The same on a device."""
        return replace(self, query=self.query.to(device), key=self.key.to(device), value=self.value.to(device))

    def _pooled(self, hidden: Sequence[Tensor] | Tensor, mask: Tensor | None, pooling: str) -> Tensor:
        pool = POOLINGS[pooling]
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
        return shares.diagonal(dim1=1, dim2=2)[:, None].expand(-1, layers, -1)  # whoever asks is answered alike
