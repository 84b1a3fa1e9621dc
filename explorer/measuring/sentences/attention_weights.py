"""Attention weights: of a model that pools over its layers, with each part's share of a vector, and of heads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from explorer.encoding.read.pooling import FIRST_LAST, POOLINGS, pooled
from explorer.errors import UnsupportedModel
from explorer.in_words import Rows, rounded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from explorer.encoding.read.encoder import Encoder, States
    from explorer.encoding.read.head import Head
    from explorer.encoding.read.parts.layer_attention import LayerAttention
    from explorer.encoding.read.sentence_pairs import SelfAttention


Floats = NDArray[np.float64]

# weights of n layers are nearly uniform if they spread over less than this share of 1/n
UNIFORM = 0.25


@dataclass(frozen=True, eq=False)
class LayerWeights:
    """A pooler's weights for some sentences.

    `weights` is (sentence, query layer, key layer); both count from `first_layer`. The head concatenates `parts`:
    `shares` (sentence, part) is each part's share of the output of its first dense layer, and `without` (sentence,
    part) is the cosine of the vector with the vector computed with the part set to zero.
    """

    weights: Floats
    first_layer: int
    query_pooling: str
    key_pooling: str
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
    def highest_layers(self) -> list[int]:
        """The layer with the highest weight for each sentence, by number."""
        weights = np.where(np.isfinite(self.by_layer), self.by_layer, -np.inf)
        return [self.layers[int(place)] for place in weights.argmax(axis=-1)]

    @property
    def nearly_uniform(self) -> tuple[bool, ...]:
        """Whether no layer is preferred, for each sentence: its weights spread over less than a quarter of 1/n."""
        spread = np.ptp(self.by_layer, axis=-1)
        return tuple(bool(one < UNIFORM / len(self.layers)) for one in spread)

    @property
    def attention_share(self) -> Floats | None:
        """The share of each sentence's vector that attention over layers makes; None if it is the only part."""
        return self.shares[:, -1] if len(self.parts) > 1 else None

    @property
    def by_layer(self) -> Floats:
        """The weight of each layer (sentence, key layer), averaged over query layers."""
        return np.asarray(self.weights.mean(axis=1))


def layer_weights(encoder: Encoder, sentences: Sequence[str], max_length: int | None = None) -> LayerWeights:
    """Compute an encoder's pooler weights for some sentences."""
    import torch

    head = encoder.head
    if head is None or head.attention is None:
        raise UnsupportedModel(
            f"'{encoder.name}' has no pooler over its layers. Train one with a method that has the setting 'pooler': "
            "see `python -m explorer methods`."
        )
    named = {name: f"{name} of the last layer" for name in POOLINGS} | {FIRST_LAST: "mean of layers 1 and last"}
    # a pooling of other layers names itself
    parts = (*(named.get(name, name) for name in head.poolings), "attention over layers")
    with torch.inference_mode():
        states = encoder.states(sentences, max_length)
        shares, without = _from_parts(head, states)
        weights = head.attention.weights(states.hidden, states.mask)
    return LayerWeights(
        weights=_array(weights),
        first_layer=head.attention.first_layer,
        query_pooling=head.attention.asks,
        key_pooling=head.attention.answers,
        parts=parts,
        shares=_array(shares),
        without=_array(without),
        cut=tuple(encoder.tokens([sentence], max_length).truncated > 0 for sentence in sentences),
        max_length=encoder.limit(max_length),
    )


class ProbeWeights:
    """The mean weights of a pooler over some of the encoded sentences; none without a pooler."""

    def __init__(self, layers: LayerAttention | None, places: Iterable[int]) -> None:
        self._layers, self._places = layers, {int(place) for place in places}
        self._sum: Tensor | None = None
        self._count = 0

    def add(self, places: list[int], states: States) -> None:
        """Add a batch; `places` are the positions of its sentences."""
        inside = [at for at, place in enumerate(places) if place in self._places]
        if self._layers is None or not inside:
            return
        weights = self._layers.weights([layer[inside] for layer in states.hidden], states.mask[inside])
        batch = weights.double().sum(0).cpu()
        self._sum = batch if self._sum is None else self._sum + batch
        self._count += len(inside)

    def mean(self) -> NDArray[np.float32] | None:
        """The mean weights (query layer, key layer)."""
        return None if self._sum is None else (self._sum / self._count).float().numpy()


def _array(numbers: Tensor) -> Floats:
    return np.asarray(numbers.double().cpu().numpy())


def _from_parts(head: Head, states: States) -> tuple[Tensor, Tensor]:
    """Shares and cosines (sentence, part).

    With x the concatenated parts, x_p the same with all but part p zero, and W the first dense layer (none: the
    identity), z = W x + b is the sum of all W x_p and b; the share of p is W x_p · z / z · z. The shares and that of
    the bias sum to 1; a part that points against the vector has a negative share.
    """
    import torch

    from explorer.encoding.read.head import Dense

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
        return torch.nn.functional.linear(joined, first.weight, first.bias if bias else None)

    every = set(range(len(parts)))
    whole, summed = vector(side_by_side(every)), mapped(side_by_side(every), bias=True)
    shares = [(mapped(side_by_side({at}), bias=False) * summed).sum(-1) / (summed * summed).sum(-1) for at in every]
    left = [vector(side_by_side(every - {at})) for at in every]
    without = [torch.nn.functional.cosine_similarity(one, whole, dim=-1) for one in left]
    return torch.stack(shares, dim=-1), torch.stack(without, dim=-1)


def weight_rows(sentences: Sequence[str], weights: LayerWeights) -> Rows:
    """A row for every sentence, query layer and key layer."""
    return [
        {
            "sentence": sentence,
            "asks": asks,
            "answers": answers,
            "weight": rounded(weights.weights[place, row, column], 6),
        }
        for place, sentence in enumerate(sentences)
        for row, asks in enumerate(weights.layers)
        for column, answers in enumerate(weights.layers)
    ]


def part_rows(sentences: Sequence[str], weights: LayerWeights) -> Rows:
    """A row for every sentence and part of its vector."""
    return [
        {
            "part": part,
            "share": rounded(weights.shares[place, column], 6),
            "cosine without it": rounded(weights.without[place, column], 6),
            "sentence": sentence,
        }
        for place, sentence in enumerate(sentences)
        for column, part in enumerate(weights.parts)
    ]


def path_rows(steps: Sequence[int], layers: Sequence[int], weights: NDArray[np.floating[Any]]) -> Rows:
    """A row for every step and layer."""
    return [
        {"step": step, "layer": layer, "weight": rounded(weight, 6)}
        for step, of_step in zip(steps, weights, strict=True)
        for layer, weight in zip(layers, of_step, strict=True)
    ]


def tokens_attended(weights: NDArray[np.float32]) -> NDArray[np.float64]:
    """Effective number of tokens (layer, head) of weights (layer, head, query, key): e to the power of the entropy of a
    token's weights, averaged over tokens. 1: attention to one token; the number of tokens: equal attention to all."""
    exact = weights.astype(np.float64)
    logs = np.log(exact, where=exact > 0, out=np.zeros_like(exact))
    return np.asarray(np.exp(-(exact * logs).sum(-1)).mean(-1))


def share_on_special(weights: NDArray[np.float32], special: tuple[bool, ...]) -> NDArray[np.float64]:
    """The share (layer, head) of attention on special tokens, averaged over tokens; from 0 to 1."""
    return np.asarray(weights[..., list(special)].astype(np.float64).sum(-1).mean(-1))


def head_rows(attention: SelfAttention, layer: int, head: int) -> Rows:
    """A row for every two tokens of one head; places count from 1."""
    return [
        {
            "layer": layer,
            "head": head,
            "place": row + 1,
            "token": token,
            "looks at place": column + 1,
            "looks at token": other,
            "weight": rounded(attention.weights[layer - 1, head - 1, row, column], 6),
        }
        for row, token in enumerate(attention.tokens)
        for column, other in enumerate(attention.tokens)
    ]
