"""Two sentences as one input: tokenised and joined as their model expects, and their self-attention weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from explorer.encoding.read.encoder import Encoder
from explorer.encoding.read.token_ids import token_ids
from explorer.encoding.read.tokenising import tokenizer_errors
from explorer.errors import UnsupportedModel

if TYPE_CHECKING:
    from transformers import BatchEncoding

MOST_TOKENS = 64  # tokens of one input; more are not readable in a figure
_ALL = 10**9
BOTH, FIRST, SECOND = "both as one", "the first", "the second"
Types = list[list[int]] | None  # of the tokens of each input: whether they are of the first or the second sentence


class Composer:
    """Tokenises sentences without special tokens, and joins two into one input."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        head = encoder.default_head
        if head.prompt and not head.roles.pooled:
            raise UnsupportedModel(
                f"'{encoder.name}' leaves its prompt {head.prompt!r} out of the pooling (include_prompt: false), so "
                "two sentences or parts of one cannot be joined to one input. Choose another method, or remove "
                "default_prompt_name from config_sentence_transformers.json in a copy of the model."
            )
        self._tokenizer = encoder.tokenizer()  # a copy, since a tokenizer must not be shared between threads
        one, two = (self._numbers([word])[0] for word in ("one", "two"))
        frame = self._read("one", "two", return_attention_mask=False)
        ids: list[int] = frame["input_ids"]
        first = _place(ids, one, 0)
        second = _place(ids, two, first + len(one)) if first >= 0 else -1
        if second < 0:
            raise UnsupportedModel(
                f"The tokenizer of '{encoder.name}' does not keep two sentences in order, so they cannot be "
                "encoded as one input. Choose another model."
            )
        single: list[int] = self._read("one", return_attention_mask=False)["input_ids"]
        start = _place(single, one, 0)
        self._around = single[:start], single[start + len(one) :]
        spans = (0, first), (first + len(one), second), (second + len(two), len(ids))
        self._before, self._between, self._after = (ids[start:end] for start, end in spans)
        types = frame.get("token_type_ids")
        # token types of each part in turn, special tokens and sentences
        self._types = types and [types[at] if at < len(types) else 0 for at in (0, first, first + len(one), second, -1)]

    @property
    def words(self) -> list[int]:
        """The vocabulary without special tokens."""
        special = set(self._tokenizer.all_special_ids)
        return [number for number in range(len(self._tokenizer)) if number not in special]

    @property
    def joined(self) -> bool:
        """Whether the tokenizer puts a separator between two sentences."""
        return bool(self._between)

    def pieces(self, sentences: Sequence[str], most: int) -> list[list[int]]:
        """Sentences as token ids, each truncated to fit into `most` with the special tokens of one sentence."""
        return [numbers[: self._room(most)] for numbers in self._numbers(self._texts(sentences))]

    def alone(self, ids: list[int], most: int) -> list[int]:
        """Tokens of one sentence between its special tokens, truncated to `most` with these."""
        before, after = self._around
        return [*before, *ids[: self._room(most)], *after]

    def read_to(self, sentences: Sequence[str], most: int) -> list[int]:
        """The number of characters of each sentence that remain after truncation; all of them if unknown."""
        if not self._tokenizer.is_fast:
            return [len(text) for text in sentences]
        found = self._read(self._texts(sentences), add_special_tokens=False, return_offsets_mapping=True)
        spans = [offsets[: self._room(most)] for offsets in found["offset_mapping"]]
        prompt = len(self._encoder.default_head.prompt)
        return [max(0, span[-1][1] - prompt) if span else 0 for span in spans]

    def pairs(self, ones: Sequence[list[int]], others: Sequence[list[int]]) -> tuple[list[list[int]], Types]:
        """Join tokenised sentences in pairs: token ids, and types if the model uses them, of one input for each pair.

        Each sentence is truncated to half of the encoder's limit.
        """
        specials = len(self._before) + len(self._between) + len(self._after)
        half = max(1, (self._encoder.max_length - specials) // 2)
        inputs = [
            (self._before, one[:half], self._between, other[:half], self._after)
            for one, other in zip(ones, others, strict=True)
        ]
        ids = [[number for part in parts for number in part] for parts in inputs]
        if not self._types:
            return ids, None
        return ids, [[kind for part, kind in zip(parts, self._types, strict=True) for _ in part] for parts in inputs]

    def joined_pairs(self, first: Sequence[str], second: Sequence[str], most: int) -> tuple[list[list[int]], Types]:
        """The same of sentences, for inputs of at most `most` tokens each: the longer sentence is truncated first."""
        found = self._read(
            self._texts(first),
            self._texts(second),
            truncation="longest_first",
            max_length=most,
            return_attention_mask=False,
        )
        return found["input_ids"], found.get("token_type_ids")

    def _room(self, most: int) -> int:
        around: int = self._tokenizer.num_special_tokens_to_add(pair=False)
        return max(1, most - around)

    def _texts(self, sentences: Sequence[str]) -> list[str]:
        texts = [self._encoder.default_head.prompt + text for text in sentences]
        return [text.lower() for text in texts] if self._encoder.lower_case else texts

    def _read(self, *texts: str | list[str], **options: object) -> BatchEncoding:
        with tokenizer_errors(f"of '{self._encoder.name}'"):
            return self._tokenizer(*texts, verbose=False, **options)

    def _numbers(self, texts: Sequence[str]) -> list[list[int]]:
        with tokenizer_errors(f"of '{self._encoder.name}'"):
            return token_ids(self._tokenizer, texts, special_tokens=False)


def _place(ids: list[int], part: list[int], start: int) -> int:
    """The position of one list in another, from `start` on; -1 if absent."""
    places = range(start, len(ids) - len(part) + 1)
    return next((place for place in places if ids[place : place + len(part)] == part), -1)


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


@torch.inference_mode()
def self_attention(encoder: Encoder, first: str, second: str, which: str) -> SelfAttention:
    """The weights of an encoder that was loaded with eager attention, which is required."""
    tokenizer = encoder.tokenizer()
    if which == BOTH:  # each is truncated to half of the input
        composer = Composer(encoder)
        one, two = composer.pieces([first, second], _ALL)
        around = len(composer.pairs([[]], [[]])[0][0])
        half = max(1, (MOST_TOKENS - around) // 2)
        (ids,), types = composer.pairs([one[:half]], [two[:half]])
        whole = around + len(one) + len(two)
    else:
        sentence = first if which == FIRST else second
        (ids,), types = encoder.tokens([sentence], min(MOST_TOKENS, encoder.max_length)).ids, None
        text = encoder.default_head.prompt + sentence
        whole = len(tokenizer(text.lower() if encoder.lower_case else text, verbose=False)["input_ids"])
    given = {"input_ids": [ids], "token_type_ids": types}
    rows = {name: torch.tensor(row, device=encoder.device) for name, row in given.items() if row is not None}
    found: tuple[Tensor | None, ...] = encoder.model(output_attentions=True, **rows).attentions or ()
    shape = (1, len(ids), len(ids))
    shown = [layer for layer in found if layer is not None and (len(layer), *layer.shape[2:]) == shape]
    if not shown or len(shown) != encoder.model.config.num_hidden_layers or len({layer.shape for layer in shown}) > 1:
        raise UnsupportedModel(
            f"'{encoder.name}' ({type(encoder.model).__name__}) does not return its attention weights. "
            "Choose a model with plain self-attention, such as BERT or RoBERTa."
        )
    specials = set(tokenizer.all_special_ids)
    return SelfAttention(
        tokens=encoder.texts(ids),
        special=tuple(number in specials for number in ids),
        weights=torch.cat(shown).float().cpu().numpy(),  # (layer, head, token, token)
        left_out=max(0, whole - len(ids)),
    )
