"""Which layers does a model with a pooler over layers listen to, and what of a sentence's vector comes from there?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explorer.errors import UnsupportedModel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from explorer.encoding.encoder import Encoder, States
    from explorer.encoding.head import Head
    from explorer.encoding.layer_attention import LayerAttention

Floats = NDArray[np.float64]
ATTENTION = "attention over layers"


@dataclass(frozen=True, eq=False)
class Listening:
    """Some sentences as a pooler reads them.

    `weights` is (sentence, layer that asks, layer that answers); both count from `first_layer`. The head puts `parts`
    side by side: `shares` (sentence, part) says how much of what its first dense layer gives comes from each, and
    `without` (sentence, part) is the cosine of the vector with what it would be if the part were zeros.
    """

    weights: Floats
    first_layer: int
    asks: str
    answers: str
    parts: tuple[str, ...]
    shares: Floats
    without: Floats
    cut: tuple[bool, ...]
    max_length: int

    @property
    def layers(self) -> list[int]:
        """The layers, by number."""
        return list(range(self.first_layer, self.first_layer + self.weights.shape[-1]))

    @property
    def loudest(self) -> list[int]:
        """The layer that each sentence listens to most, by number."""
        heard = np.where(np.isfinite(self.by_layer), self.by_layer, -np.inf)
        return [self.layers[int(place)] for place in heard.argmax(axis=-1)]

    @property
    def by_layer(self) -> Floats:
        """How much each layer is listened to (sentence, layer that answers): the mean over who asks."""
        return np.asarray(self.weights.mean(axis=1))


def listening(encoder: Encoder, sentences: Sequence[str], max_length: int | None = None) -> Listening:
    """How an encoder's pooler reads sentences."""
    import torch

    head = encoder.head
    if head is None or head.layers is None:
        raise UnsupportedModel(f"'{encoder.name}' has no pooler over its layers. Train one with layer-attention.")
    limit = encoder.limit(max_length)
    with torch.inference_mode():
        states = encoder.states(sentences, max_length)
        shares, without = _from_parts(head, states)
        weights = head.layers.weights(states.hidden, states.mask)
    return Listening(
        weights=_array(weights),
        first_layer=head.layers.first_layer,
        asks=head.layers.asks,
        answers=head.layers.answers,
        parts=(*(f"{name} of the last layer" for name in head.poolings), ATTENTION),
        shares=_array(shares),
        without=_array(without),
        cut=tuple(encoder.tokens([sentence], max_length).truncated > 0 for sentence in sentences),
        max_length=limit,
    )


def _from_parts(head: Head, states: States) -> tuple[Tensor, Tensor]:
    """Shares and cosines (sentence, part).

    With x the parts side by side, x_p the same with all but part p zero, and W the first dense layer (none: the
    identity), z = W x + b is the sum of all W x_p and b; the share of p is W x_p · z / z · z. The shares and that of
    the bias sum to 1; one that works against the others is negative.
    """
    import torch
    from torch.nn import functional

    from explorer.encoding.head import Dense
    from explorer.encoding.pooling import pooled

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


class ProbeWeights:
    """The mean weights of a pooler over some of the sentences that are read; none where there is no pooler."""

    def __init__(self, layers: LayerAttention | None, places: Iterable[int]) -> None:
        self._layers, self._places = layers, {int(place) for place in places}
        self._sum: Tensor | None = None
        self._count = 0

    def add(self, places: list[int], states: States) -> None:
        """Look at a batch: `places` says which of all sentences it holds."""
        inside = [at for at, place in enumerate(places) if place in self._places]
        if self._layers is None or not inside:
            return
        weights = self._layers.weights([layer[inside] for layer in states.hidden], states.mask[inside])
        batch = weights.double().sum(0).cpu()
        self._sum = batch if self._sum is None else self._sum + batch
        self._count += len(inside)

    def mean(self) -> NDArray[np.float32] | None:
        """(layer that asks, layer that answers)."""
        return None if self._sum is None else (self._sum / self._count).float().numpy()


def _array(numbers: Tensor) -> Floats:
    return np.asarray(numbers.double().cpu().numpy())
