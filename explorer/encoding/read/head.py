"""Compute a sentence's vector from its states: poolings, dense layers, normalisation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional

from explorer.encoding.read.flow_map import FlowMap
from explorer.encoding.read.layer_attention import LayerAttention
from explorer.encoding.read.pooling import POOLINGS, pooled
from explorer.encoding.read.reading_titles import FIRST_LAST
from explorer.encoding.read.word_weights import WordWeights

# by the name of the torch.nn class; names from files are looked up here, never imported
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "Identity": torch.clone,
    "Tanh": torch.tanh,
    "ReLU": functional.relu,
    "GELU": functional.gelu,
    "SiLU": functional.silu,
    "Sigmoid": torch.sigmoid,
}


@dataclass(frozen=True, eq=False)
class Dense:
    """A linear map and an activation; `weight` is (width out, width in)."""

    weight: Tensor
    bias: Tensor | None
    activation: str

    def __call__(self, vectors: Tensor) -> Tensor:
        """Vectors (sentence, width in) as vectors (sentence, width out)."""
        return ACTIVATIONS[self.activation](functional.linear(vectors, self.weight, self.bias))

    def describe(self) -> str:
        """`Dense 512 (tanh)`."""
        activation = "" if self.activation == "Identity" else f" ({self.activation.lower()})"
        return f"Dense {len(self.weight)}{activation}"

    def to(self, device: str) -> Dense:
        """A copy on a device."""
        return replace(self, weight=self.weight.to(device), bias=None if self.bias is None else self.bias.to(device))


@dataclass(frozen=True, eq=False)
class LayerNorm:
    """Layer norm: every vector to mean 0 and variance 1, then scaled and shifted per dimension."""

    weight: Tensor
    bias: Tensor

    def __call__(self, vectors: Tensor) -> Tensor:
        """Vectors (sentence, width) as vectors of the same shape."""
        return functional.layer_norm(vectors, self.weight.shape, self.weight, self.bias)

    def describe(self) -> str:
        """`layer norm`."""
        return "layer norm"

    def to(self, device: str) -> LayerNorm:
        """A copy on a device."""
        return replace(self, weight=self.weight.to(device), bias=self.bias.to(device))


# modules that only Strata has, and the file each is exported as
OWN_FILES = {"LayerReading": "layer_reading", "FlowMap": "flow_map"}

Step = Dense | LayerNorm | FlowMap


@dataclass(frozen=True)
class Head:
    """Poolings, concatenated; then maps, in order; then normalisation if `normalize`.

    Poolings are of the last layer unless they name others; the output of `layers`, from all layers, comes after them.
    `prompt` is put before every sentence, under every layer & pooling. `remark` adds a note to the description.
    """

    poolings: tuple[str, ...]
    dense: tuple[Step, ...] = ()
    normalize: bool = False
    prompt: str = ""
    remark: str = ""
    layers: LayerAttention | WordWeights | None = None

    def __call__(self, hidden: Sequence[Tensor] | Tensor, mask: Tensor | None) -> Tensor:
        """Compute vectors (sentence, width) from states (layer, sentence, token, width) and a mask."""
        parts = [pooled(name, hidden, mask) for name in self.poolings]
        if self.layers:
            parts.append(self.layers(hidden, mask))
        vectors = torch.cat(parts, dim=-1)
        for step in self.dense:
            vectors = step(vectors)
        return functional.normalize(vectors, dim=-1) if self.normalize else vectors

    def width(self, states: int) -> int:
        """The dimension of a vector, for states of this width."""
        found = states * (len(self.poolings) + (self.layers is not None))
        for step in self.dense:
            found = len(step.weight) if isinstance(step, Dense) else found
        return found

    @property
    def of_last_layer(self) -> bool:
        """Whether it uses the last layer only."""
        return self.layers is None and all(name in POOLINGS for name in self.poolings)

    @property
    def attention(self) -> LayerAttention | None:
        """Its attention over layers, if it has one."""
        return self.layers if isinstance(self.layers, LayerAttention) else None

    @property
    def own_modules(self) -> tuple[str, ...]:
        """Its parts that no module of other libraries can express."""
        several = self.layers is not None or len(self.poolings) > 1
        steps = ("FlowMap" for step in self.dense if isinstance(step, FlowMap))
        return (*["LayerReading"] * (several and not self.of_last_layer), *dict.fromkeys(steps))

    def describe(self) -> str:
        """`mean of the last layer → Dense 512 (tanh) → normalised, after the prompt 'query: '`."""
        last = " + ".join(name for name in self.poolings if name in POOLINGS)
        parts = (
            f"{last} of the last layer" if last else "",
            "mean of layers 1 and last" if FIRST_LAST in self.poolings else "",
            *(name for name in self.poolings if name not in POOLINGS and name != FIRST_LAST),
            self.layers.describe() if self.layers else "",
        )
        steps = (
            " + ".join(part for part in parts if part),
            *(step.describe() for step in self.dense),
            *["normalised"] * self.normalize,
        )
        prompt = f"after the prompt {self.prompt!r}" if self.prompt else ""
        return ", ".join(part for part in (" → ".join(steps), self.remark, prompt) if part)

    def to(self, device: str) -> Head:
        """A copy on a device."""
        layers = self.layers and self.layers.to(device)
        return replace(self, dense=tuple(step.to(device) for step in self.dense), layers=layers)
