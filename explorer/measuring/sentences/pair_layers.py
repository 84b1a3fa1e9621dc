"""Cosine of two sentences at every layer, and each layer's contribution to the last cosine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explorer.encoding.read.pooling import POOLINGS
from explorer.measuring.sentences.sentence_vectors import every_layer

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PairLayers:
    """Cosines and contributions (layer, pooling) of two sentences; the contributions sum to the last cosine."""

    poolings: tuple[str, ...]
    cosines: Floats
    contributions: Floats
    cut: tuple[bool, ...]
    max_length: int


def pair_layers(encoder: Encoder, first: str, second: str, max_length: int | None = None) -> PairLayers:
    """Encode two sentences, once each."""
    read = encoder.tokens([first, second], max_length)
    layers = encoder.model.config.num_hidden_layers + 1
    found = np.empty((layers, len(POOLINGS), 2, encoder.width))
    picks = [every_layer(encoder, pooling) for pooling in POOLINGS]
    for views in encoder.views_of(read.ids, [needed for wanted in picks for needed in wanted.needs]):
        for column, wanted in enumerate(picks):
            found[:, column, views.positions] = wanted.of(views).double().cpu().numpy()
    one, other = found[:, :, 0], found[:, :, 1]  # (layer, pooling, width)
    return PairLayers(
        poolings=tuple(POOLINGS),
        cosines=_cosines(one, other),
        contributions=contributions(one, other),
        cut=tuple(encoder.tokens([text], max_length).truncated > 0 for text in (first, second)),
        max_length=encoder.limit(max_length),
    )


def contributions(one: Floats, other: Floats) -> Floats:
    """Each layer's contribution to the cosine of the last layer, for vectors (layer, …, width) of two sentences.

    Layer k adds d_k = v_k - v_(k-1) to a sentence's vector, and layer 0 all of v_0, so that v_L is their sum. The
    cosine of v_L and w_L is then the sum over k of (d_k · w_L + v_L · e_k) / 2, over both lengths, with e_k for the
    other sentence.
    """
    added_one, added_other = (np.diff(side, axis=0, prepend=np.zeros_like(side[:1])) for side in (one, other))
    products = ((added_one * other[-1]).sum(-1) + (added_other * one[-1]).sum(-1)) / 2
    return _over(products, _length(one[-1]) * _length(other[-1]))


def _cosines(one: Floats, other: Floats) -> Floats:
    return _over((one * other).sum(-1), _length(one) * _length(other))


def _length(vectors: Floats) -> Floats:
    return np.asarray(np.sqrt((vectors**2).sum(-1)))


def _over(products: Floats, lengths: Floats) -> Floats:
    """A quotient; missing for zero vectors."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(lengths > 0, products / lengths, np.nan))
