"""Self-attention heads: effective number of tokens, share on special tokens, and table rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explorer.measuring.table_cells import Rows, rounded

if TYPE_CHECKING:
    from explorer.encoding.read.self_attention import SelfAttention


def tokens_looked_at(weights: NDArray[np.float32]) -> NDArray[np.float64]:
    """Effective number of tokens (layer, head) of weights (layer, head, query, key): e to the power of the entropy of a
    token's weights, averaged over tokens. 1: attention to one token; the number of tokens: equal attention to all."""
    exact = weights.astype(np.float64)
    logs = np.log(exact, where=exact > 0, out=np.zeros_like(exact))
    return np.asarray(np.exp(-(exact * logs).sum(-1)).mean(-1))


def share_of(weights: NDArray[np.float32], special: tuple[bool, ...]) -> NDArray[np.float64]:
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
