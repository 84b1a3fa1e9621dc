"""Tokens that are encoded alone: which tokens of a vocabulary get a vector, what it is, and a tokenizer for them.

They make static embeddings of an encoder: a text is then its tokens without special ones.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from dataclasses import replace
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explorer.encoding.locate import families, stored_vectors
from explorer.encoding.read.pooling import MODEL_DEFAULT
from explorer.errors import UnsupportedModel
from explorer.progress import Phase, Progress, Work

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from explorer.encoding.read.encoder import Encoder

AT_ONCE = 1024  # tokens that are encoded between two progress reports
MEAN, TOKEN = "mean", "token"  # ways to make one vector of the states of a token and its special tokens
POOLINGS = (MEAN, TOKEN, MODEL_DEFAULT)
_PLACEHOLDER = re.compile(r"[\[<]unused_?\d+[\]>]")


def bare_tokenizer(encoder: Encoder) -> PreTrainedTokenizerBase:
    """The tokenizer without special tokens; an error for an encoder that has no tokens in a context."""
    from tokenizers import normalizers

    from explorer.encoding.load.model_tokenizer import bare
    from explorer.encoding.load.static_embedding import StaticEncoder

    stored_vectors.refuse(encoder.folder, encoder.name)
    whole = encoder.tokenizer()
    if isinstance(encoder, StaticEncoder) or not whole.is_fast:
        reason = "is static embeddings already" if whole.is_fast else "has a tokenizer without a tokenizer.json"
        raise UnsupportedModel(
            f"'{encoder.name}' {reason}, so no static encoder can be made of it. Choose an encoder {families.SUCH_AS}."
        )
    backend = whole.backend_tokenizer
    if encoder.lower_case:
        steps = [normalizers.Lowercase(), *([backend.normalizer] if backend.normalizer else [])]
        backend.normalizer = normalizers.Sequence(steps)
    return bare(backend)


def kept_tokens(tokenizer: PreTrainedTokenizerBase) -> list[int]:
    """The ids of the tokens that get a vector, in order: no special tokens, and no placeholders."""
    added = tokenizer.added_tokens_decoder.items()
    special = {*tokenizer.all_special_ids, *(number for number, token in added if token.special)}
    every = sorted(tokenizer.get_vocab().items(), key=itemgetter(1))
    return [number for token, number in every if number not in special and not _PLACEHOLDER.fullmatch(token)]


def width(encoder: Encoder, pooling: str) -> int:
    """The dimension of the vectors of tokens."""
    return encoder.default_head.width(encoder.width) if pooling == MODEL_DEFAULT else encoder.width


def token_vectors(encoder: Encoder, numbers: Sequence[int], pooling: str) -> Work[NDArray[np.float32]]:
    """The vector (token, width) of each token between the special tokens of a sentence, with nothing else."""
    import torch

    from explorer.encoding.read.encoder import every_layer
    from explorer.encoding.read.head import Head
    from explorer.encoding.read.prompts import NO_PROMPTS
    from explorer.encoding.read.sentence_pairs import Composer

    plain = copy.copy(encoder)
    plain.head = replace(encoder.default_head, normalize=False, prompt="", roles=NO_PROMPTS)
    composer, head = Composer(plain), plain.head if pooling == MODEL_DEFAULT else Head(("mean",))
    parts = []
    for start in range(0, len(numbers), AT_ONCE):
        yield Progress(Phase.ENCODING_TOKENS, start, len(numbers))
        some = numbers[start : start + AT_ONCE]
        ids = torch.tensor([composer.alone([number], encoder.max_length) for number in some])
        own = ids == torch.tensor(some)[:, None]
        mask = own.to(encoder.device) if pooling == TOKEN else None
        with torch.inference_mode():
            hidden = every_layer(encoder.model, input_ids=ids.to(encoder.device))
            parts.append(head(hidden, mask).float().cpu().numpy())
    found: NDArray[np.float32] = np.concatenate(parts)
    return found
