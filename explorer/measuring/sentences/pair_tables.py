"""Tables of the cosines of a pair, layer by layer."""

from __future__ import annotations

from explorer.measuring.sentences.pair_layers import PairLayers
from explorer.measuring.table_cells import Rows, rounded


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
