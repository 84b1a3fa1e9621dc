"""Write a tokenizer.json with fewer tokens, under which no text has an unknown token that it did not have before.

Every character that is a token stays, so that any other token can be spelled. A text whose tokens stay keeps them:
- WordPiece takes the longest token that fits. One that stays is also the longest of those that stay.
- Unigram takes the sequence with the highest sum of scores. One that stays is also the highest of those that stay. The
  token with the lowest score stays as well, since the score of an unknown character is computed from it.
- BPE merges neighbours, of all pairs that it can merge the one with the lowest rank. Each merge on the way to a token
  that stays is kept, and so is the order of merges. So at each step the lowest pair of all is also that of those kept.
"""

from __future__ import annotations

import copy
import json
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from itertools import pairwise
from typing import Any

from tokenizers import Tokenizer

from explorer.encoding.locate import configuration, families
from explorer.errors import UnsupportedModel

Stated = dict[str, Any]  # the content of a tokenizer.json, or of a part of it
WORD_PIECE, BPE, UNIGRAM = "WordPiece", "BPE", "Unigram"
# the token of a byte, several of which spell a character that is no token, and how many there are
_BYTE, _BYTES = re.compile("<0x[0-9A-F]{2}>"), 256


def smaller(stated: Stated, used: Iterable[int], name: str) -> Stated:
    """The content of a tokenizer.json with the tokens of these ids, its added tokens, and those that any text needs.

    Tokens keep their order, but that added ones which its model lacks come last. `name` is the encoder's, for errors.
    """
    stated = copy.deepcopy(stated)
    model, ends = stated["model"], list(_ids_in(configuration.steps(stated["post_processor"] or {"type": "Sequence"})))
    vocabulary = _vocabulary(model)
    added = {token["content"]: token["id"] for token in stated["added_tokens"]}
    tokens = {number: token for token, number in (vocabulary | added).items()}
    ends_of = {listed[place] for listed, place in ends}
    if not ends_of <= tokens.keys():
        missing = min(ends_of - tokens.keys())
        raise refused(name, f"its post_processor adds the token {missing}, which its vocabulary does not have")
    kept = {*added, *(tokens[number] for number in (*used, *ends_of) if number in tokens)}
    kept |= _needed(stated, vocabulary, kept, name)
    order = [token for token in sorted(vocabulary, key=vocabulary.__getitem__) if token in kept]
    last = [token for token in sorted(added, key=added.__getitem__) if token not in vocabulary]
    numbers = {token: number for number, token in enumerate((*order, *last))}
    for listed, place in ends:
        listed[place] = numbers[tokens[listed[place]]]
    for token in stated["added_tokens"]:
        token["id"] = numbers[token["content"]]
    stated["added_tokens"].sort(key=lambda token: token["id"])
    model |= _rewritten(model, vocabulary, {token: numbers[token] for token in order})
    return stated | {"truncation": None, "padding": None}


def refused(name: str, why: str) -> UnsupportedModel:
    """The error of an encoder whose vocabulary cannot be cut."""
    return UnsupportedModel(
        f"The vocabulary of '{name}' cannot be cut: {why}. Leave it whole, or choose an encoder {families.SUCH_AS}."
    )


def _vocabulary(model: Stated) -> dict[str, int]:
    """The id of each token of a model."""
    listed = model["vocab"]
    return {token: number for number, (token, _) in enumerate(listed)} if model["type"] == UNIGRAM else listed


def _rewritten(model: Stated, vocabulary: Mapping[str, int], numbers: Mapping[str, int]) -> Stated:
    """What changes in a model that has these tokens with these ids."""
    if model["type"] == UNIGRAM:
        unknown = model["unk_id"]
        return {
            "vocab": [model["vocab"][vocabulary[token]] for token in numbers],
            "unk_id": None if unknown is None else numbers[model["vocab"][unknown][0]],
        }
    if model["type"] == BPE:
        merges = [[one, other] for one, other in model["merges"] if {one, other, one + other} <= numbers.keys()]
        return {"vocab": numbers, "merges": merges}
    return {"vocab": numbers}


def _needed(stated: Stated, vocabulary: Mapping[str, int], kept: Collection[str], name: str) -> set[str]:
    """The tokens that texts need besides those that are kept."""
    model = stated["model"]
    kind, prefix = model["type"], model.get("continuing_subword_prefix") or ""
    if kind not in (WORD_PIECE, BPE, UNIGRAM):
        raise refused(name, f"its tokenizer is a {kind}, which cannot spell the words that are left out")
    if kind == BPE and (prefix or model["end_of_word_suffix"] or model["dropout"]):
        raise refused(name, "its BPE marks parts of words, or merges them at random")
    found = {token for token in vocabulary if len(token.removeprefix(prefix)) == 1}
    # no part of a text: added tokens, the unknown one, and those of bytes, which spell every character if all are there
    apart = {token["content"] for token in stated["added_tokens"]} | _unknown(model)
    of_bytes = {token for token in vocabulary if model.get("byte_fallback") and _BYTE.fullmatch(token)}
    unspelled = set(_unspelled(stated, vocabulary.keys(), vocabulary.keys() - apart - of_bytes, prefix))
    if kind == BPE:  # in which they are words as a whole, or never used
        ranks = {(one, other): rank for rank, (one, other) in enumerate(model["merges"])}
        found |= unspelled.union(*(_merged(token, ranks) for token in vocabulary.keys() & kept))
    elif unspelled and len(of_bytes) < _BYTES:
        raise refused(name, f"its token {min(unspelled)!r} has a character that is no token, and would be unknown")
    if kind == UNIGRAM:
        found.add(min(model["vocab"], key=lambda entry: entry[1])[0])
    return found | of_bytes | (_unknown(model) & vocabulary.keys())


def _unknown(model: Stated) -> set[str]:
    """The token of what is unknown, if there is one."""
    if model["type"] != UNIGRAM:
        return {model["unk_token"]} - {None}
    return set() if model["unk_id"] is None else {model["vocab"][model["unk_id"]][0]}


def _unspelled(stated: Stated, vocabulary: Set[str], tokens: Set[str], prefix: str) -> Iterator[str]:
    """Those of some tokens with a character that is no token, at the start of a word or inside as it is in them."""
    both = bool(prefix) and _may_begin(prefix, stated)
    for token in tokens:
        is_part = token.startswith(prefix) and token != prefix
        needed = {prefix + character for character in token[len(prefix) :]} if is_part else set[str]()
        if both or not is_part:
            needed |= {token[:1], *(prefix + character for character in token[1:])}
        if not needed <= vocabulary:
            yield token


def _may_begin(prefix: str, stated: Stated) -> bool:
    """Whether a word may begin with the prefix of parts of words; most tokenizers split a text at its characters."""
    empty = {"type": BPE, "vocab": {}, "merges": []}
    splits = Tokenizer.from_str(json.dumps(stated | {"model": empty, "added_tokens": []})).pre_tokenizer
    words = [f"{prefix}a"] if splits is None else [word for word, _ in splits.pre_tokenize_str(f"{prefix}a")]
    return any(word.startswith(prefix) and word != prefix for word in words)


def _merged(token: str, ranks: Mapping[tuple[str, str], int]) -> set[str]:
    """All that merges build on the way from the characters of a token to the token."""
    parts, found = list(token), set[str]()
    while len(parts) > 1:
        rank, place = min((ranks.get(pair, math.inf), place) for place, pair in enumerate(pairwise(parts)))
        if rank == math.inf:
            break
        parts[place : place + 2] = ["".join(parts[place : place + 2])]
        found.add(parts[place])
    return found


def _ids_in(steps: Iterable[Stated]) -> Iterator[tuple[list[Any], int]]:
    """Where steps of the post_processor have the ids of the tokens that they add: lists, and places in them."""
    for step in steps:
        if step["type"] == "TemplateProcessing":
            for special in step["special_tokens"].values():
                yield from ((special["ids"], place) for place in range(len(special["ids"])))
        elif step["type"] in ("BertProcessing", "RobertaProcessing"):
            yield from ((step[end], 1) for end in ("cls", "sep"))  # each is a token with its id
