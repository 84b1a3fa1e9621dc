"""SBERT-WK: pool all layers word by word, with weights from how each word changes across layers.

Wang and Kuo 2020. A word's layers are weighted by how well each aligns with neighbouring layers and by what it adds to
them; words are weighted by how much they differ from layer to layer. No training.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor

WORDS_AT_ONCE = 1024  # limits the memory, since their layers are float64
_LEAST = 1e-6  # lower bound of an alignment, whose inverse is a weight
_FEWEST = 3  # layers, so that one has a neighbour on either side


@dataclass(frozen=True)
class WordWeights:
    """Layers from `first_layer`, or the last three if there are fewer; `window` neighbours on either side of each.

    In the released code a layer with fewer than `window` layers below uses none of them; `whole_window` uses them.
    """

    words: ClassVar[str] = "weighted layers"
    saved_as: ClassVar[str] = "words"
    title: ClassVar[str] = "words weighted over layers from {first_layer} (window {window})"

    first_layer: int = 4
    window: int = 2
    whole_window: bool = False

    def __call__(self, hidden: Sequence[Tensor] | Tensor, mask: Tensor | None) -> Tensor:
        """Compute vectors (sentence, width) from states (layer, sentence, token, width)."""
        layers = hidden[min(self.first_layer, max(0, len(hidden) - _FEWEST)) :]
        sentences, tokens = _words(hidden[-1], mask).nonzero(as_tuple=True)
        exact = torch.float32 if sentences.device.type == "mps" else torch.float64  # Apple's GPUs have no float64
        count, width = hidden[-1].shape[0], hidden[-1].shape[-1]
        sums = torch.zeros(count, width, dtype=exact, device=sentences.device)
        totals = torch.zeros(count, dtype=exact, device=sentences.device)
        plain, numbers = sums.clone(), totals.clone()
        for of, at in zip(*(torch.split(one, WORDS_AT_ONCE) for one in (sentences, tokens)), strict=True):
            vectors = torch.stack([layer[of, at] for layer in layers], dim=1).to(exact)  # (word, layer, width)
            shares, changes = self.weights(vectors)
            words = torch.einsum("nl,nlw->nw", shares, vectors)
            sums.index_add_(0, of, changes[:, None] * words)
            totals.index_add_(0, of, changes)
            plain.index_add_(0, of, words)
            numbers.index_add_(0, of, torch.ones_like(changes))
        # if no word changes from layer to layer, all have equal weight
        still = (totals <= torch.finfo(exact).tiny)[:, None]
        return torch.where(still, plain / numbers[:, None], sums / totals[:, None].clamp_min(1e-300)).float()

    def weights(self, vectors: Tensor) -> tuple[Tensor, Tensor]:
        """For words (word, layer, width): the weight of each layer (word, layer) and of each word (word)."""
        products = vectors @ vectors.transpose(1, 2)  # (word, layer, layer): all that the angles need
        lengths = products.diagonal(dim1=1, dim2=2).sqrt().clamp_min(1e-12)
        fits, adds = zip(*(self._fit(products, layer) for layer in range(vectors.shape[1])), strict=True)
        shares = (_shares(torch.stack(fits, dim=1)) + _shares(torch.stack(adds, dim=1))) / 2
        neighbours = products.diagonal(offset=1, dim1=1, dim2=2) / (lengths[:, 1:] * lengths[:, :-1])
        return shares, neighbours.var(1, correction=0)

    def width(self, states: int) -> int:
        """The width of the states."""
        return states

    def to(self, device: str) -> WordWeights:
        """Itself: it has no tensors."""
        return self

    def settings(self) -> dict[str, Any]:
        """Its settings."""
        return asdict(self)

    def tensors(self) -> dict[str, Tensor]:
        """No weights."""
        return {}

    @classmethod
    def made(cls, settings: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> WordWeights:
        """A pooling from its saved settings and weights."""
        return cls(**settings)

    def _fit(self, products: Tensor, layer: int) -> tuple[Tensor, Tensor]:
        """How well a layer of words aligns with its neighbours, and how much it adds to them, each (word)."""
        below = range(max(0, layer - self.window), layer)
        if not self.whole_window and layer < self.window:
            below = range(0)
        above = range(layer + 1, min(products.shape[1], layer + 1 + self.window))
        places = [*below, *above, layer]
        around = products[:, places][:, :, places]
        # R of a QR of the neighbours and the layer itself, from their products; where they are flat it is kept apart
        scale = around.diagonal(dim1=1, dim2=2).mean(1)[:, None, None]
        lift = 1e-13 * scale * torch.eye(len(places), dtype=around.dtype, device=around.device)
        upper = torch.linalg.cholesky_ex(around + lift)[0].transpose(1, 2)
        own, others = upper[:, :, -1], upper[:, :-1, :-1]
        inside = own[:, :-1]
        directions = others / others.norm(dim=1, keepdim=True).clamp_min(1e-12)
        aligned = (directions.mean(2) * inside).sum(1) / inside.norm(dim=1).clamp_min(1e-12)
        aligned = torch.where(aligned.abs() < _LEAST, torch.full_like(aligned, _LEAST), aligned)
        return 1 / (2 * len(places) * aligned), own[:, -1] / own.norm(dim=1).clamp_min(1e-12)


def _words(states: Tensor, mask: Tensor | None) -> Tensor:
    """The tokens that are used (sentence, token): those to pool without the last, [SEP]; a single one is used."""
    if mask is None:
        mask = torch.ones(states.shape[:2], dtype=torch.bool, device=states.device)
    mask = mask.bool()
    lengths = mask.sum(1, keepdim=True)
    return mask & ((mask.cumsum(1) < lengths) | (lengths == 1))  # a prompt before them may be left out


def _shares(values: Tensor) -> Tensor:
    """Values (word, layer) divided by their sum; equal if the sum is 0."""
    sums = values.sum(1, keepdim=True)
    return torch.where(sums.abs() < 1e-12, torch.full_like(values, 1 / values.shape[1]), values / sums)


def opened(place: Path, stated: object) -> WordWeights | None:
    """The pooling with these settings."""
    kinds = {name: type(value) for name, value in asdict(WordWeights()).items()}
    if not isinstance(stated, dict) or {name: type(value) for name, value in stated.items()} != kinds:
        return None
    return WordWeights.made(stated, {})
