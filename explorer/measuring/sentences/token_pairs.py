"""The tokens of two sentences at every layer: their cosines, and each token's contribution to the cosine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explorer.encoding.read.pooling import POOLINGS, layers_of
from explorer.encoding.read.readings import OWN, Reading, Row
from explorer.measuring.sentences import sentence_vectors
from explorer.measuring.sentences.cosine_matrix import similarities
from explorer.measuring.sentences.pair_layers import PairLayers, pair_layers
from explorer.progress import Progress, Work

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder


MOST = 64  # tokens of a sentence that are shown; more are not readable in a figure

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Shares:
    """The contribution of each token to the cosine; those of a sentence sum to it."""

    first: Floats
    second: Floats


@dataclass(frozen=True, eq=False)
class TokenPair:
    """Two sentences under one layer & pooling. `cosines` (layer, token of the first, token of the second) are of the
    first tokens, up to MOST; `shares` are of all."""

    tokens: tuple[tuple[str, ...], tuple[str, ...]]
    cosines: NDArray[np.float32]
    cosine: float
    pooled: Reading | None
    shares: Shares | None
    by_layer: PairLayers

    @property
    def left_out(self) -> tuple[int, int]:
        """The number of tokens of each sentence that are not shown."""
        return max(0, len(self.tokens[0]) - MOST), max(0, len(self.tokens[1]) - MOST)


def token_pair(
    encoder: Encoder, first: str, second: str, reading: Reading, max_length: int | None = None
) -> Work[TokenPair]:
    """Encode both sentences, each by itself."""
    yield Progress("encoding tokens", 0, 0)
    one, other = (token_states(encoder, sentence, max_length) for sentence in (first, second))
    vectors = yield from sentence_vectors.of_reading(encoder, [first, second], reading, max_length)
    pooled = pooled_layers(encoder, reading)
    shares = None
    if pooled is not None:
        layers = list(pooled.row.layers)
        first_states, second_states = (side.hidden[layers].astype(np.float64).mean(0) for side in (one, other))
        shares = token_shares(first_states, second_states, pooled.pooling)
    return TokenPair(
        tokens=(one.tokens, other.tokens),
        cosines=_token_cosines(one.hidden[:, :MOST], other.hidden[:, :MOST]),
        cosine=float(similarities(vectors)[0, 1]),
        pooled=pooled,
        shares=shares,
        by_layer=pair_layers(encoder, first, second, max_length),
    )


def token_shares(one: Floats, other: Floats, pooling: str) -> Shares | None:
    """Each token's contribution to the cosine of two sentences, from states (token, width); None if one token is all.

    Where a vector is a weighted sum of tokens, v = Σ wᵢ xᵢ, token i adds wᵢ xᵢ · u, over both lengths, with u for the
    other sentence. Under max, dimension d belongs to the token with the largest value, which adds v_d u_d; ties
    share it.
    """
    shares = POOLINGS[pooling].shares
    if shares is None:
        return None
    parts = [shares(side) * side for side in (one, other)]
    v, u = (part.sum(0) for part in parts)
    lengths = float(np.sqrt((v @ v) * (u @ u)))
    if lengths == 0:
        return None
    return Shares(parts[0] @ u / lengths, parts[1] @ v / lengths)


def _token_cosines(one: NDArray[np.float32], other: NDArray[np.float32]) -> NDArray[np.float32]:
    sides = one.astype(np.float64), other.astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        first, second = (side / np.linalg.norm(side, axis=-1, keepdims=True) for side in sides)
    return np.asarray(first @ second.transpose(0, 2, 1), dtype=np.float32)


@dataclass(frozen=True, eq=False)
class TokenStates:
    """The spelling of the tokens, and `hidden` (layer, token, width)."""

    tokens: tuple[str, ...]
    hidden: NDArray[np.float32]


def token_states(encoder: Encoder, sentence: str, max_length: int | None = None) -> TokenStates:
    """Encode one sentence."""
    (ids,) = encoder.tokens([sentence], max_length).ids
    hidden = encoder.states([sentence], max_length).hidden
    return TokenStates(
        tokens=encoder.texts(ids),
        hidden=np.stack([layer[0].float().cpu().numpy() for layer in hidden]),
    )


def pooled_layers(encoder: Encoder, reading: Reading) -> Reading | None:
    """The layers and the pooling of a layer & pooling, normalisation aside; None if maps follow the pooling.

    The model default can be a plain pooling of tokens too.
    """
    if reading != OWN:
        return reading
    head = encoder.head
    if head is None or head.dense or head.layers is not None or len(head.poolings) != 1:
        return None
    pooling, layers = layers_of(head.poolings[0])
    last = encoder.rows[-1].layers[-1]
    return Reading(Row(tuple(last if layer == -1 else layer for layer in layers)), pooling)
