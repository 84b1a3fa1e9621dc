"""Self-attention weights of two sentences, encoded as one input or separately."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from explorer.encoding.read.encoder import Encoder
from explorer.encoding.read.sentence_pairs import Composed, Composer
from explorer.errors import UnsupportedModel

MOST = 64  # tokens of one input; more are not readable in a figure
_ALL = 10**9
BOTH, FIRST, SECOND = "both as one", "the first", "the second"


@dataclass(frozen=True, eq=False)
class SelfAttention:
    """Attention weights (layer, head, query token, key token); the first layer is layer 1.

    `left_out` is the number of truncated tokens.
    """

    tokens: tuple[str, ...]
    special: tuple[bool, ...]
    weights: NDArray[np.float32]
    left_out: int


def inputs(encoder: Encoder) -> tuple[str, ...]:
    """What can be encoded of two sentences: both as one input, only if the tokenizer separates them, or each alone."""
    try:
        joined = Composer(encoder).joined
    except UnsupportedModel:
        joined = False
    return (BOTH, FIRST, SECOND) if joined else (FIRST, SECOND)


def self_attention(encoder: Encoder, first: str, second: str, which: str) -> SelfAttention:
    """The weights of an encoder that was loaded with eager attention, which is required."""
    if which == BOTH:
        composed, left_out = _pair(encoder, first, second)
    else:
        composed, left_out = _alone(encoder, first if which == FIRST else second)
    specials = set(encoder.tokenizer().all_special_ids)
    return SelfAttention(
        tokens=encoder.texts(composed.ids),
        special=tuple(number in specials for number in composed.ids),
        weights=_weights(encoder, composed).float().cpu().numpy(),
        left_out=left_out,
    )


def _alone(encoder: Encoder, sentence: str) -> tuple[Composed, int]:
    most = min(MOST, encoder.max_length)
    (ids,) = encoder.tokens([sentence], most).ids
    if len(ids) < most:
        return Composed(ids, None), 0
    tokenizer = encoder.tokenizer()
    text = (encoder.head.prompt if encoder.head else "") + sentence
    whole = tokenizer(text.lower() if encoder.lower_case else text, verbose=False)["input_ids"]
    return Composed(ids, None), len(whole) - len(ids)


def _pair(encoder: Encoder, first: str, second: str) -> tuple[Composed, int]:
    """Both in one input, each truncated to half of it."""
    composer = Composer(encoder)
    one, two = composer.pieces([first, second], _ALL)
    around = len(composer.pair([], []).ids)
    half = max(1, (MOST - around) // 2)
    composed = composer.pair(one[:half], two[:half])
    return composed, around + len(one) + len(two) - len(composed.ids)


@torch.inference_mode()
def _weights(encoder: Encoder, composed: Composed) -> Tensor:
    """(layer, head, token, token) of one input."""
    ids = torch.tensor([composed.ids], device=encoder.device)
    types = {} if composed.types is None else {"token_type_ids": torch.tensor([composed.types], device=encoder.device)}
    found: tuple[Tensor | None, ...] = encoder.model(input_ids=ids, output_attentions=True, **types).attentions or ()
    shape = (1, ids.shape[1], ids.shape[1])
    shown = [layer for layer in found if layer is not None and (len(layer), *layer.shape[2:]) == shape]
    if not shown or len(shown) != encoder.model.config.num_hidden_layers or len({layer.shape for layer in shown}) > 1:
        raise UnsupportedModel(
            f"'{encoder.name}' ({type(encoder.model).__name__}) does not return its attention weights. "
            "Choose a model with plain self-attention, such as BERT or RoBERTa."
        )
    return torch.cat(shown)
