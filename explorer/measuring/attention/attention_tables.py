"""Table rows of attention figures: pooler weights, their history, cosines of a pair, one head."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from explorer.measuring.attention.pooler_weights import Listening
from explorer.measuring.table_cells import Rows, rounded

if TYPE_CHECKING:
    from explorer.encoding.read.self_attention import SelfAttention


def weight_rows(sentences: Sequence[str], heard: Listening) -> Rows:
    """A row for every sentence, query layer and key layer."""
    return [
        {
            "sentence": sentence,
            "asks": asks,
            "answers": answers,
            "weight": rounded(heard.weights[place, row, column], 6),
        }
        for place, sentence in enumerate(sentences)
        for row, asks in enumerate(heard.layers)
        for column, answers in enumerate(heard.layers)
    ]


def part_rows(sentences: Sequence[str], heard: Listening) -> Rows:
    """A row for every sentence and part of its vector."""
    return [
        {
            "part": part,
            "share": rounded(heard.shares[place, column], 6),
            "cosine without it": rounded(heard.without[place, column], 6),
            "sentence": sentence,
        }
        for place, sentence in enumerate(sentences)
        for column, part in enumerate(heard.parts)
    ]


def path_rows(steps: Sequence[int], layers: Sequence[int], listened: NDArray[np.floating[Any]]) -> Rows:
    """A row for every step and layer."""
    return [
        {"step": step, "layer": layer, "weight": rounded(weight, 6)}
        for step, of_step in zip(steps, listened, strict=True)
        for layer, weight in zip(layers, of_step, strict=True)
    ]


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
