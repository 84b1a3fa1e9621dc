"""List what a server may do to texts and tokens otherwise than the model declares: each change by itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from explorer.encoding.load import chosen_prompts, model_tokenizer
from explorer.studies.serving import causes
from explorer.studies.serving.readouts import special_tokens
from explorer.studies.serving.servers import WHOLE, Padding, Server, ServerChange

if TYPE_CHECKING:
    from explorer.encoding.locate.model_names import Found
    from explorer.encoding.read.encoder import Encoder
    from explorer.encoding.read.head import Head

LENGTHS = (32, 64, 100, 128, 200, 256, 300, 384, 500, 510, 512, 768, 1000, 1024, 2048, 4096, 8192)  # that servers have
PROMPTS = (
    "query: ",
    "passage: ",
    "search_query: ",
    "search_document: ",
)  # of E5 and Nomic, which many models take over
BATCHES = (8, 16, 32, 64)
WIDTHS = (64, 128, 256, 512)  # to which servers pad
MOST_PROMPTS = 12
Changed = list[tuple[ServerChange, Server]]


def of_tokens(model: Found, encoder: Encoder, longest: int) -> Iterator[ServerChange]:
    """Other prompts, case and special tokens, and other lengths that cut the longest text."""
    yield from _prompts(model, encoder)
    yield ServerChange.of_encoder(causes.case(not encoder.lower_case), lower_case=not encoder.lower_case)
    tokenizer = encoder.tokenizer()
    if tokenizer.is_fast:
        cased = model_tokenizer.with_case(tokenizer)
        if cased is not None:
            yield ServerChange.of_encoder(causes.case(False), tokenizer=_constant(cased))
        *_, names = special_tokens(encoder)
        if names:
            bare = model_tokenizer.without_special(tokenizer)
            yield ServerChange.of_encoder(causes.special_tokens(names), tokenizer=_constant(bare))
    for limit in LENGTHS:
        if limit < min(longest, encoder.max_length) or encoder.max_length < limit <= most_tokens(encoder) < longest:
            yield cut_at(encoder, limit, longest)


def cut_at(encoder: Encoder, limit: int, longest: int) -> ServerChange:
    """Texts of which the longest has so many tokens are cut at another length than the declared one."""
    return ServerChange.of_encoder(causes.length(limit, encoder.max_length, limit >= longest), max_length=limit)


def most_tokens(encoder: Encoder) -> int:
    """The most tokens that the model itself can read, whatever its folder declares."""
    return max(encoder.max_length, model_tokenizer.positions(encoder.model) or LENGTHS[-1])


def of_padding(encoder: Encoder, count: int) -> Iterator[ServerChange]:
    """Ways to pad a file of so many sentences, pooled by mistake; then the same with attention to the padding."""
    sizes = [WHOLE, *(size for size in BATCHES if size < count)]
    rules = [Padding(size) for size in sizes] + [Padding(size, by_length=True) for size in sizes[1:]]
    longest = min(encoder.max_length, WIDTHS[-1])
    rules += [Padding(width=width) for width in sorted({*WIDTHS, longest}) if width <= longest]
    for attended in (False, True):
        for rule in rules:
            yield _padded(replace(rule, attended=attended))


def _padded(rule: Padding) -> ServerChange:
    def make(server: Server) -> Server:
        return replace(server, padding=rule)

    return ServerChange(causes.padding(rule.words, rule.attended), make)


def _prompts(model: Found, encoder: Encoder) -> Iterator[ServerChange]:
    """No prompt, those of the model's table, and usual ones; and whether the pooling has the tokens of a prompt."""
    declared = encoder.default_head.prompt
    named = {text: name for name, text in reversed(chosen_prompts.table(model.folder).items())}
    texts = dict.fromkeys(["", *list(named)[::-1], *PROMPTS])
    for text in [one for one in texts if one != declared][:MOST_PROMPTS]:
        yield _prompted(encoder, text, named.get(text, ""), declared)
    pooled = not encoder.default_head.roles.pooled

    def head(changed: Encoder) -> Head:
        of_changed = changed.default_head
        return replace(of_changed, roles=replace(of_changed.roles, pooled=pooled))

    yield ServerChange.of_encoder(causes.prompt_tokens(pooled), head=head)


def _prompted(encoder: Encoder, text: str, name: str, declared: str) -> ServerChange:
    return ServerChange.of_encoder(
        causes.prompt(text, name, declared), head=lambda changed: replace(changed.default_head, prompt=text)
    )


def _constant(value: Any) -> Any:
    return lambda _: value


def distinct(server: Server, changes: Sequence[ServerChange], sentences: Sequence[str]) -> Changed:
    """The changes that change the tokens of some sentences, each with its server; of equal ones the first."""
    known = {server.key(sentences)}
    found = []
    for change in changes:
        changed = server.after(change)
        key = changed.key(sentences)
        if key not in known:
            known.add(key)
            found.append((change, changed))
    return found


def distinct_padding(server: Server, sentences: Sequence[str], rows: Sequence[int]) -> Changed:
    """The ways to pad some rows of all sentences that differ in a width, each with its server."""
    known, found = set(), []
    ids = server.ids([sentences[row] for row in rows])
    for change in of_padding(server.encoder, len(sentences)):
        changed = server.after(change)
        assert changed.padding is not None, "the change is one of padding"
        widths = changed.widths(sentences, rows, ids)
        key = (changed.padding.attended, *widths)
        if key not in known and widths != list(map(len, ids)):
            known.add(key)
            found.append((change, changed))
    return found
