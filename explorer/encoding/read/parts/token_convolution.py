"""A convolution over the tokens of the last layer, whose outputs are averaged over the sentence.

The local and global vectors of IS-BERT (Zhang, He, Liu, Lim and Bing 2020, section 3): filters of several widths read
each token with its neighbours, and the mean of what they find is the sentence's vector.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from explorer.encoding.locate import weights
from explorer.encoding.read.pooling import pool_mean
from explorer.errors import NotWeights


@dataclass(frozen=True, eq=False)
class TokenConvolution:
    """Convolutions side by side: of each, `filters` (filter, width, kernel) and `biases` (filter); kernels are odd.

    `reads_padding` leaves the states of padding as they are, as in the training of the released code: the last tokens
    of a sentence then depend on how much padding follows.
    """

    words: ClassVar[str] = "convolution over tokens"
    saved_as: ClassVar[str] = "convolution"
    title: ClassVar[str] = "mean of a convolution over tokens (kernels {kernels}[; {relu}])"

    filters: tuple[Tensor, ...]
    biases: tuple[Tensor, ...]
    relu: bool = False
    reads_padding: bool = False

    def __call__(self, hidden: Sequence[Tensor] | Tensor, mask: Tensor | None) -> Tensor:
        """Compute vectors (sentence, filters of all kernels) from states (layer, sentence, token, width)."""
        return pool_mean(self.of_tokens(hidden[-1], mask), mask)

    def of_tokens(self, states: Tensor, mask: Tensor | None) -> Tensor:
        """The outputs at every token (sentence, token, filters of all kernels), from states of the last layer."""
        states = states.float()
        if mask is not None and not self.reads_padding:
            states = states.masked_fill(~mask.bool()[:, :, None], 0.0)
        states = states.transpose(1, 2)
        each = zip(self.filters, self.biases, strict=True)
        found = [functional.conv1d(states, one, bias, padding=one.shape[-1] // 2) for one, bias in each]
        joined = torch.cat(found, dim=1).transpose(1, 2)
        return joined.relu() if self.relu else joined

    def width(self, states: int) -> int:
        """The number of filters."""
        return sum(map(len, self.biases))

    def to(self, device: str) -> TokenConvolution:
        """A copy on a device."""
        filters, biases = (tuple(one.to(device) for one in each) for each in (self.filters, self.biases))
        return replace(self, filters=filters, biases=biases)

    def settings(self) -> dict[str, Any]:
        """The kernels, and whether there is a ReLU; nobody reads padding after training."""
        return {"kernels": [one.shape[-1] for one in self.filters], "relu": self.relu}

    def tensors(self) -> dict[str, Tensor]:
        """Filters and biases, by the place of their kernel."""
        named = {"filters": self.filters, "biases": self.biases}
        return {f"{name}_{place}": one for name, each in named.items() for place, one in enumerate(each)}

    @classmethod
    def made(cls, settings: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> TokenConvolution:
        """A pooling from its saved settings and weights."""
        places = range(len(settings["kernels"]))
        filters, biases = (tuple(tensors[f"{name}_{place}"] for place in places) for name in ("filters", "biases"))
        return cls(filters, biases, settings["relu"])


def opened(place: Path, stated: object) -> TokenConvolution | None:
    """The convolution with these settings, and the weights in a folder."""
    if not isinstance(stated, dict) or set(stated) != {"kernels", "relu"} or type(stated["relu"]) is not bool:
        return None
    kernels = stated["kernels"]
    if not isinstance(kernels, list) or not kernels:
        return None
    if any(type(kernel) is not int or kernel < 1 or kernel % 2 == 0 for kernel in kernels):
        return None
    names = {name: [f"{name}_{at}" for at in range(len(kernels))] for name in ("filters", "biases")}
    found = weights.of_module(place, "", (*names["filters"], *names["biases"]))
    filters, biases = ([tuple(found[one].shape) for one in each] for each in names.values())
    width = filters[0][1:2]
    expected = [(*bias, *width, kernel) for bias, kernel in zip(biases, kernels, strict=True)]
    if len(found) != 2 * len(kernels) or filters != expected:
        raise NotWeights(
            f"{place / 'model.safetensors'} has weights of other sizes than its settings (kernels "
            f"{', '.join(map(str, kernels))}). Export the model again."
        )
    return TokenConvolution.made(stated, found)
