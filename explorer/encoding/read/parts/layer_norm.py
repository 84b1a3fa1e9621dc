"""Layer norm after a pooling, as the LayerNorm of sentence-transformers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from torch import Tensor
from torch.nn import functional

from explorer.encoding.locate import weights
from explorer.encoding.read.layer_reading import write


@dataclass(frozen=True, eq=False)
class LayerNorm:
    """Layer norm: every vector to mean 0 and variance 1, then scaled and shifted per dimension."""

    words: ClassVar[str] = "layer norm"
    module: ClassVar[str] = "sentence_transformers.models.LayerNorm"

    weight: Tensor
    bias: Tensor

    def __call__(self, vectors: Tensor) -> Tensor:
        """Vectors (sentence, width) as vectors of the same shape."""
        return functional.layer_norm(vectors, self.weight.shape, self.weight, self.bias)

    @property
    def takes(self) -> int:
        """The width of its weights."""
        return len(self.weight)

    def width(self, given: int) -> int:
        """The width given."""
        return given

    def settings(self) -> dict[str, Any]:
        """Its width."""
        return {"dimension": len(self.weight)}

    def to(self, device: str) -> LayerNorm:
        """A copy on a device."""
        return replace(self, weight=self.weight.to(device), bias=self.bias.to(device))

    def save(self, folder: str) -> None:
        """Save the width and the weights in an existing folder."""
        write(folder, self.settings(), {"norm.weight": self.weight, "norm.bias": self.bias})


def opened(place: Path) -> LayerNorm:
    """The layer norm in a folder."""
    found = weights.of_module(place, "norm.", ("weight", "bias"))
    return LayerNorm(found["weight"], found["bias"])
