"""A dense layer after a pooling, as the Dense of sentence-transformers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from explorer.encoding.locate import configuration, weights
from explorer.encoding.read.layer_reading import write
from explorer.errors import UnsupportedModel

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
    """A linear map and an activation; `weight` is (width out, width in). Its input may be added to its output."""

    words: ClassVar[str] = "dense layer"
    module: ClassVar[str] = "sentence_transformers.models.Dense"
    title: ClassVar[str] = "Dense {width}[ ({activation})][, {residual}]"

    weight: Tensor
    bias: Tensor | None
    activation: str
    residual: bool = False
    residual_weight: Tensor | None = None  # by which the input is added, where it has another width; no bias

    def __call__(self, vectors: Tensor) -> Tensor:
        """Vectors (sentence, width in) as vectors (sentence, width out)."""
        mapped = ACTIVATIONS[self.activation](functional.linear(vectors, self.weight, self.bias))
        if not self.residual:
            return mapped
        return mapped + (vectors if self.residual_weight is None else functional.linear(vectors, self.residual_weight))

    @property
    def takes(self) -> int:
        """The width in."""
        return self.weight.shape[1]

    def width(self, given: int) -> int:
        """The width out."""
        return len(self.weight)

    def settings(self) -> dict[str, Any]:
        """The width out and the activation, None for the identity; and whether its input is added, if it is."""
        activation = None if self.activation == "Identity" else self.activation.lower()
        return {"width": len(self.weight), "activation": activation} | ({"residual": True} if self.residual else {})

    def to(self, device: str) -> Dense:
        """A copy on a device."""
        bias, added = (one if one is None else one.to(device) for one in (self.bias, self.residual_weight))
        return replace(self, weight=self.weight.to(device), bias=bias, residual_weight=added)

    def save(self, folder: str) -> None:
        """Save settings and weights in an existing folder."""
        settings = {
            "in_features": self.weight.shape[1],
            "out_features": self.weight.shape[0],
            "bias": self.bias is not None,
            "activation_function": f"torch.nn.{self.activation}",
            **({"use_residual": True} if self.residual else {}),
        }
        given = {"linear.weight": self.weight, "linear.bias": self.bias, "residual.weight": self.residual_weight}
        write(folder, settings, {name: tensor for name, tensor in given.items() if tensor is not None})


def opened(place: Path) -> Dense:
    """The dense layer in a folder."""
    stated = configuration.of_vectors(place, "activation_function", "use_residual")
    written = stated.activation_function  # releases wrote torch.nn.modules.activation.Tanh
    activation = written.rsplit(".", 1)[-1]
    if activation not in ACTIVATIONS or not written.startswith("torch.nn."):
        raise UnsupportedModel(
            f"{place / 'config.json'} asks for the activation '{written}'. Strata supports torch.nn's "
            f"{', '.join(ACTIVATIONS)}. Choose another model."
        )
    found, added = weights.of_module(place, "linear."), None
    if stated.use_residual and len(set(found["weight"].shape)) > 1:
        added = weights.of_module(place, "residual.")["weight"]
    return Dense(found["weight"], found.get("bias"), activation, bool(stated.use_residual), added)
