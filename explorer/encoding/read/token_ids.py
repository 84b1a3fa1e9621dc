"""Turn texts into token ids by the tokenizers library alone, where the tokenizer of transformers adds nothing to it.

transformers makes offsets, masks and dictionaries of every text; the ids alone take a fraction of the time. The library
releases Python's lock meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerBase

# what a class of transformers may do in its own way between a text and its ids
_STEPS = ("__call__", "_encode_plus", "_convert_encoding", "set_truncation_and_padding", "_switch_to_input_mode")


def token_ids(
    tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], *, special_tokens: bool = True, most: int | None = None
) -> list[list[int]]:
    """The ids of each text as transformers gives them, truncated to `most` tokens on the tokenizer's side.

    A tokenizer keeps truncation and padding as state, so two threads must not share it.
    """
    from transformers.tokenization_utils_base import TruncationStrategy
    from transformers.utils import PaddingStrategy

    if not texts:
        return []
    backend = _backend(tokenizer)
    if backend is None:
        found: list[list[int]] = tokenizer(
            list(texts),
            add_special_tokens=special_tokens,
            truncation=most is not None,
            max_length=most,
            return_attention_mask=False,
            return_token_type_ids=False,
            verbose=False,
        )["input_ids"]
        return found
    cut = TruncationStrategy.DO_NOT_TRUNCATE if most is None else TruncationStrategy.LONGEST_FIRST
    tokenizer.set_truncation_and_padding(PaddingStrategy.DO_NOT_PAD, cut, most, 0, None, None)
    backend.encode_special_tokens = tokenizer.split_special_tokens
    return [one.ids for one in backend.encode_batch_fast(texts, add_special_tokens=special_tokens)]


def _backend(tokenizer: PreTrainedTokenizerBase) -> Tokenizer | None:
    """The library's own tokenizer, if the class of transformers changes nothing of its ids; else None."""
    from transformers import PreTrainedTokenizerFast

    own, plain = type(tokenizer), PreTrainedTokenizerFast
    if not issubclass(own, plain) or any(getattr(own, step, None) is not getattr(plain, step, None) for step in _STEPS):
        return None
    backend: Tokenizer = tokenizer.backend_tokenizer
    return backend
