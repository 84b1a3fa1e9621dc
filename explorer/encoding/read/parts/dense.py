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
    """A linear map and an activation; `weight` is (width out, width in)."""

    words: ClassVar[str] = "dense layer"
    module: ClassVar[str] = "sentence_transformers.models.Dense"
    title: ClassVar[str] = "Dense {width}[ ({activation})]"

    weight: Tensor
    bias: Tensor | None
    activation: str

    def __call__(self, vectors: Tensor) -> Tensor:
        """Vectors (sentence, width in) as vectors (sentence, width out)."""
        return ACTIVATIONS[self.activation](functional.linear(vectors, self.weight, self.bias))

    def width(self, given: int) -> int:
        """The width out."""
        return len(self.weight)

    def settings(self) -> dict[str, Any]:
        """The width out and the activation; None for the identity."""
        activation = None if self.activation == "Identity" else self.activation.lower()
        return {"width": len(self.weight), "activation": activation}

    def to(self, device: str) -> Dense:
        """A copy on a device."""
        return replace(self, weight=self.weight.to(device), bias=None if self.bias is None else self.bias.to(device))

    def save(self, folder: str) -> None:
        """Save settings and weights in an existing folder."""
        settings = {
            "in_features": self.weight.shape[1],
            "out_features": self.weight.shape[0],
            "bias": self.bias is not None,
            "activation_function": f"torch.nn.{self.activation}",
        }
        given = {"linear.weight": self.weight, "linear.bias": self.bias}
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
    if stated.use_residual:
        raise UnsupportedModel(
            f"{place / 'config.json'} asks for a residual Dense, which Strata does not support. Choose another model."
        )
    found = weights.of_module(place, "linear.")
    return Dense(found["weight"], found.get("bias"), activation)
