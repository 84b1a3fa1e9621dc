"""The tokens of a sentence and their states in every layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explorer.encoding.read.readings import OWN, Reading, Row, layers_of

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder


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
