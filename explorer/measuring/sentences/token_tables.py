"""Table rows of the microscope: cosines by layer, token contributions, token pairs."""

from __future__ import annotations

from collections.abc import Mapping

from explorer.measuring.sentences.pair_layers import PairLayers
from explorer.measuring.sentences.token_pairs import TokenPair
from explorer.measuring.table_cells import Rows, rounded

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
        for sentence, (tokens, shares) in enumerate(
            zip(pair.tokens, (pair.shares.first, pair.shares.second), strict=True), 1
        )
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
