"""Two sentences at every layer and token by token: cosines, what each layer and token adds to them, and table rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explorer.encoding.read.pooling import OWN, POOLINGS, Reading, Row, layers_of
from explorer.encoding.read.prompts import left_out
from explorer.in_words import Rows, rounded
from explorer.measuring.sentences.sentence_vectors import every_layer, gathered, of_reading, similarities
from explorer.progress import Progress, Work, finish

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder

MOST = 64  # tokens of a sentence that are shown; more are not readable in a figure

Floats = NDArray[np.float64]
Shares = tuple[Floats, Floats]  # of each token of either sentence, what it adds: those of a sentence sum to the cosine


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
    readings = [reading for pooling in POOLINGS for reading in every_layer(encoder, pooling)]
    vectors = np.array(finish(gathered(encoder, [first, second], readings, max_length)), dtype=np.float64)
    by_layer = vectors.reshape(len(POOLINGS), -1, 2, encoder.width).transpose(2, 1, 0, 3)
    one, other = by_layer  # (layer, pooling, width)
    return PairLayers(
        poolings=tuple(POOLINGS),
        cosines=_over((one * other).sum(-1), _length(one) * _length(other)),
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


def _length(vectors: Floats) -> Floats:
    return np.asarray(np.sqrt((vectors**2).sum(-1)))


def _over(products: Floats, lengths: Floats) -> Floats:
    """A quotient; missing for zero vectors."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(lengths > 0, products / lengths, np.nan))


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
    (tokens, hidden, count), (other_tokens, other_hidden, other_count) = (
        token_states(encoder, text, max_length) for text in (first, second)
    )
    vectors = yield from of_reading(encoder, [first, second], reading, max_length)
    pooled = pooled_layers(encoder, reading)
    with np.errstate(invalid="ignore", divide="ignore"):
        left, right = (
            side / np.linalg.norm(side, axis=-1, keepdims=True)
            for side in (hidden[:, :MOST].astype(np.float64), other_hidden[:, :MOST].astype(np.float64))
        )
    shares = None
    if pooled is not None:
        layers = list(pooled.row.layers)
        one, other = (side[layers].astype(np.float64).mean(0) for side in (hidden, other_hidden))
        shares = token_shares(one, other, pooled.pooling, (count, other_count))
    return TokenPair(
        tokens=(tokens, other_tokens),
        cosines=np.asarray(left @ right.transpose(0, 2, 1), dtype=np.float32),
        cosine=float(similarities(vectors)[0, 1]),
        pooled=pooled,
        shares=shares,
        by_layer=pair_layers(encoder, first, second, max_length),
    )


def token_shares(one: Floats, other: Floats, pooling: str, left_out: tuple[int, int] = (0, 0)) -> Shares | None:
    """Each token's contribution to the cosine of two sentences, from states (token, width); None if one token is all.

    Where a vector is a weighted sum of tokens, v = Σ wᵢ xᵢ, token i adds wᵢ xᵢ · u, over both lengths, with u for the
    other sentence. Under max, dimension d belongs to the token with the largest value, which adds v_d u_d; ties
    share it. The first `left_out` tokens of each add nothing.
    """
    shares = POOLINGS[pooling].shares
    if shares is None:
        return None
    parts = [shares(side, count) * side for side, count in zip((one, other), left_out, strict=True)]
    v, u = (part.sum(0) for part in parts)
    lengths = float(np.sqrt((v @ v) * (u @ u)))
    if lengths == 0:
        return None
    return parts[0] @ u / lengths, parts[1] @ v / lengths


def token_states(
    encoder: Encoder, sentence: str, max_length: int | None = None
) -> tuple[tuple[str, ...], NDArray[np.float32], int]:
    """The spelling of the tokens of a sentence, its states (layer, token, width), and how many tokens are not
    pooled."""
    (ids,) = encoder.tokens([sentence], max_length).ids
    hidden = encoder.states([sentence], max_length).hidden
    return encoder.texts(ids), np.stack([layer[0].float().cpu().numpy() for layer in hidden]), left_out(ids)


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


Pairs = Mapping[str, TokenPair]  # by side: A, or A and B


def layer_rows(pairs: Pairs) -> Rows:
    """The cosine at every layer under every pooling, of each side."""
    return [{"side": side, **row} for side, pair in pairs.items() for row in pair_rows(pair.by_layer)]


def share_rows(pairs: Pairs) -> Rows:
    """The contribution of every token, for sides whose cosine is a sum over tokens; positions count from 1."""
    return [
        {"side": side, "sentence": sentence, "place": place, "token": token, "share": rounded(share, 6)}
        for side, pair in pairs.items()
        if pair.shares is not None
        for sentence, (tokens, shares) in enumerate(zip(pair.tokens, pair.shares, strict=True), 1)
        for place, (token, share) in enumerate(zip(tokens, shares, strict=True), 1)
    ]


def token_rows(pairs: Pairs, layers: Mapping[str, int]) -> Rows:
    """The cosines of every token of the first sentence with every one of the second, at a layer of each side."""
    return [
        {
            "side": side,
            "layer": layers[side],
            "place": one + 1,
            "token": first,
            "other place": other + 1,
            "other token": second,
            "cosine": rounded(pair.cosines[layers[side], one, other], 6),
        }
        for side, pair in pairs.items()
        if side in layers
        for one, first in enumerate(pair.tokens[0][: pair.cosines.shape[1]])
        for other, second in enumerate(pair.tokens[1][: pair.cosines.shape[2]])
    ]


def pair_rows(pair: PairLayers) -> Rows:
    """A row for every layer and pooling."""
    return [
        {
            "layer": layer,
            "pooling": pooling,
            "cosine": rounded(pair.cosines[layer, column], 6),
            "contribution": rounded(pair.contributions[layer, column], 6),
        }
        for layer in range(len(pair.cosines))
        for column, pooling in enumerate(pair.poolings)
    ]
