"""Cut an encoder's vocabulary to the tokens of some texts: fewer word embeddings, and the same vectors of these texts.

Words that are left out are spelled with shorter tokens, down to single characters.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn

from explorer.encoding.locate import families, lookup
from explorer.encoding.read.encoder import Encoder
from explorer.encoding.tune.editing import ROUNDING
from explorer.encoding.tune.fewer_tokens import refused, smaller
from explorer.progress import Progress, Work

if TYPE_CHECKING:
    from transformers import PreTrainedModel

TRIED = 4  # texts whose vectors are compared


def cut_vocabulary(encoder: Encoder, texts: Sequence[str]) -> Work[Encoder]:
    """The encoder with the tokens of these texts and of its prompts, its special tokens, and all that spells others.

    It shares the weights that are not word embeddings. Texts whose tokens stay have the same vectors, and no text gets
    an unknown token that it did not have.
    """
    tokenizer = encoder.tokenizer()
    if not tokenizer.is_fast:
        raise refused(encoder.name, "its tokenizer has no tokenizer.json")
    used = yield from encoder.token_ids(texts)
    roles = encoder.default_head.roles
    used |= yield from encoder.token_ids([roles.query, roles.document], prompt="")
    yield Progress("cutting the vocabulary", 0, 0)
    named = {number for numbers in _token_ids(encoder.model).values() for number in numbers}
    first = families.padding_position(encoder.model)  # positions start after the id of padding, which has to stay
    stated = json.loads(tokenizer.backend_tokenizer.to_str())
    stated = smaller(stated, {*used, *named, *range(0 if first is None else first + 1)}, encoder.name)
    before = tokenizer.get_vocab()
    tokenizer._tokenizer = Tokenizer.from_str(json.dumps(stated))  # it is a copy, and has all ids from there
    numbers = tokenizer.get_vocab()
    rows = torch.tensor([before[token] for token in sorted(numbers, key=numbers.__getitem__)])
    digest = lookup.joined_digests(encoder.digest, "vocabulary", *map(str, rows.tolist()))
    found = encoder.with_model(_with_rows(encoder.model, rows), digest, encoder.head, tokenizer)
    _check(encoder, found, rows, texts)
    return found


def _token_ids(model: PreTrainedModel) -> dict[str, list[int]]:
    """The ids of tokens in the settings of a model, by the name of the setting."""
    stated = {name: value for name, value in model.config.to_dict().items() if name.endswith("_token_id")}
    listed = {name: value if isinstance(value, list) else [value] for name, value in stated.items()}
    return {name: [number for number in numbers if isinstance(number, int)] for name, numbers in listed.items()}


def _with_rows(model: PreTrainedModel, rows: Tensor) -> PreTrainedModel:
    """A model with these rows of its word embeddings, in this order, that shares all other weights."""
    whole: Tensor = model.get_input_embeddings().weight
    fewer = nn.Parameter(whole.detach()[rows.to(whole.device)], requires_grad=whole.requires_grad)
    kept = {id(tensor): tensor for tensor in (*model.parameters(), *model.buffers())}
    # what is in the second argument counts as copied already
    found = copy.deepcopy(model, {**kept, id(whole): fewer})
    places = {number: place for place, number in enumerate(rows.tolist())}
    for part in found.modules():
        if isinstance(part, nn.Embedding) and part.weight is fewer:
            part.num_embeddings = len(rows)
            part.padding_idx = places.get(part.padding_idx)
    found.config.vocab_size = len(rows)
    for name, numbers in _token_ids(model).items():
        stay = [places[number] for number in numbers if number in places]
        is_list = isinstance(getattr(model.config, name), list)
        setattr(found.config, name, stay if is_list else next(iter(stay), None))
    return found


def _check(whole: Encoder, cut: Encoder, rows: Tensor, texts: Sequence[str]) -> None:
    """Refuse an encoder that gives some of the texts other tokens, or other states, than before."""
    some = sorted(texts, key=len)[:: max(1, len(texts) // TRIED)]
    before, after = whole.tokens(some).ids, cut.tokens(some).ids
    old = rows.tolist()
    if [[old[number] for number in numbers] for numbers in after] != before:
        raise refused(whole.name, "transformers would make other tokens of the same texts with it")
    for text in some:
        one, other = whole.states([text]).hidden[-1], cut.states([text]).hidden[-1]
        if (one - other).abs().max() > ROUNDING[whole.precision] * one.abs().max():
            raise refused(whole.name, "its states depend on the ids of tokens in other ways than by word embeddings")
