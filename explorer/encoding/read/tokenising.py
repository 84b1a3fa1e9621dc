"""Turn sentences into the token ids of a model: after its prompt, in its case, up to its limit."""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from explorer.encoding.read.head import Head
from explorer.encoding.read.prompts import PromptedIds, RolePrompts, prompt_of
from explorer.encoding.read.token_ids import token_ids
from explorer.errors import BadChoice, TokenizerMissing, UnsupportedModel
from explorer.progress import Progress, Work

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


@dataclass(frozen=True)
class Tokens:
    """Sentences as token ids, in the caller's order, and how many were truncated.

    They are `PromptedIds` where the pooling leaves out the prompt before a sentence.
    """

    ids: list[list[int]]
    truncated: int


class Tokenising:
    """The tokenizer of a model with its prompt and its limit. Threads can share it."""

    at_once = 8192  # texts that are tokenised between two progress reports

    def __init__(
        self, name: str, tokenizer: PreTrainedTokenizerBase, max_length: int, head: Head | None, *, lower_case: bool
    ) -> None:
        self.name = name
        self.max_length = max_length
        self.head = head
        self.lower_case = lower_case
        self._tokenizer = tokenizer
        # a fast tokenizer keeps padding and truncation as state, so two threads would get wrong tokens
        self._tokenizer_lock = threading.Lock()

    @property
    def default_head(self) -> Head:
        """The model default: the declared head, else the mean, as in sentence-transformers."""
        return self.head or Head(("mean",))

    @property
    def role_prompts(self) -> RolePrompts:
        """The prompts of queries and documents in training and its evaluation.

        There are none if every sentence has a prompt, which the tokenizer adds.
        """
        roles = self.default_head.roles
        return RolePrompts(pooled=roles.pooled) if self.default_head.prompt else roles

    def with_changed(
        self,
        *,
        head: Head | None = None,
        lower_case: bool | None = None,
        max_length: int | None = None,
        tokenizer: PreTrainedTokenizerBase | None = None,
    ) -> Self:
        """A copy that shares the weights, with another head (for its prompts), case, limit or tokenizer."""
        changed = copy.copy(self)
        changed.head = head or self.head
        changed.lower_case = self.lower_case if lower_case is None else lower_case
        changed.max_length = max_length or self.max_length
        changed._tokenizer = tokenizer or self._tokenizer
        return changed

    def limit(self, max_length: int | None = None) -> int:
        """The most tokens of a sentence."""
        if max_length is None:
            return self.max_length
        if not 3 <= max_length <= self.max_length:  # 3: [CLS], a word, [SEP]
            raise BadChoice(
                f"A maximum length of {max_length} tokens is not possible: {self.name} allows 3 to "
                f"{self.max_length}. Choose a length in that range, or none for all {self.max_length}."
            )
        return max_length

    def tokens(self, sentences: Sequence[str], max_length: int | None = None, prompt: str | None = None) -> Tokens:
        """Sentences as token ids after a prompt (default: the model's), truncated to `max_length` (the model's)."""
        limit = self.limit(max_length)
        prompt = self.default_head.prompt if prompt is None else prompt
        texts = self._in_case([prompt + text for text in sentences])
        with self._tokenizer_lock:
            ids = self._numbers(texts)
            too_long = [place for place, numbers in enumerate(ids) if len(numbers) > limit]
            if too_long:
                cut = self._numbers([texts[place] for place in too_long], limit)
                for place, numbers in zip(too_long, cut, strict=True):
                    ids[place] = numbers
                _check_cut(self.name, cut, limit)
            if not self.default_head.roles.pooled:
                ids = self._after_prompts(ids, [prompt + prompt_of(text) for text in sentences], limit)
        return Tokens(ids=ids, truncated=len(too_long))

    def check_room(self, whose: str, prompt: str, limit: int) -> None:
        """Refuse a prompt that leaves no room for a text within a limit of tokens."""
        (ids,) = self.tokens([""], prompt=prompt).ids
        if len(ids) >= limit:
            raise BadChoice(
                f"The {whose} prompt {prompt!r} of {self.name} has {len(ids):,} tokens and leaves no room for a text: "
                f"at most {limit:,} tokens are read. Shorten the prompt, or allow a greater length."
            )

    def tokenised(self, texts: Sequence[str], max_length: int | None = None, prompt: str | None = None) -> Work[Tokens]:
        """Many texts as `tokens` gives them, in parts, so that the work can be stopped."""
        ids, truncated = [], 0
        for start in range(0, len(texts), self.at_once):
            yield Progress("tokenising sentences", start, len(texts))
            some = self.tokens(texts[start : start + self.at_once], max_length, prompt)
            ids += some.ids
            truncated += some.truncated
        return Tokens(ids, truncated)

    def lengths(self, sentences: Sequence[str], prompt: str | None = None) -> list[int]:
        """How many tokens each sentence has after a prompt (default: the model's), none of them cut."""
        prompt = self.default_head.prompt if prompt is None else prompt
        texts = self._in_case([prompt + text for text in sentences])
        with self._tokenizer_lock:
            return [len(ids) for ids in self._numbers(texts)]

    def token_ids(self, texts: Sequence[str], prompt: str | None = None) -> Work[set[int]]:
        """The ids that any of many texts has after a prompt (default: the model's), none of them cut."""
        prompt, found = self.default_head.prompt if prompt is None else prompt, set[int]()
        for start in range(0, len(texts), self.at_once):
            yield Progress("tokenising sentences", start, len(texts))
            some = self._in_case([prompt + text for text in texts[start : start + self.at_once]])
            with self._tokenizer_lock:
                found.update(*self._numbers(some))
        return found

    def spans(self, sentence: str) -> tuple[str, list[tuple[int, int, int]]]:
        """A sentence as it is tokenised, and of each of its tokens the word, the start and the end in it."""
        (text,) = self._in_case([sentence])
        with self._tokenizer_lock, tokenizer_errors(f"of '{self.name}'"):
            found = self._tokenizer(text, return_offsets_mapping=True, add_special_tokens=False, verbose=False)
        tokens = zip(found.word_ids(), found["offset_mapping"], strict=True)
        return text, [(word or 0, start, end) for word, (start, end) in tokens if end > start]

    def words(self, sentence: str, limit: int) -> tuple[list[int], list[tuple[int, int, int] | None], int]:
        """A sentence's token ids, truncated; the word of each with its start and end; and how many it has untruncated.

        The word is None for special tokens and those of the prompt.
        """
        prompt = self.default_head.prompt
        (text,), begin = self._in_case([prompt + sentence]), len(prompt)
        with self._tokenizer_lock, tokenizer_errors(f"of '{self.name}'"):
            found = self._tokenizer(text, return_offsets_mapping=True, verbose=False)
            count = len(found["input_ids"])
            if count > limit:
                cut = {"truncation": True, "max_length": limit}
                found = self._tokenizer(text, return_offsets_mapping=True, verbose=False, **cut)
        _check_cut(self.name, [found["input_ids"]], limit)
        spans = [
            None if word is None or end <= begin else (word, max(start - begin, 0), end - begin)
            for word, (start, end) in zip(found.word_ids(), found["offset_mapping"], strict=True)
        ]
        ids = found["input_ids"] or self._without_tokens()
        if prompt and not self.default_head.roles.pooled:
            with self._tokenizer_lock:
                (ids,) = self._after_prompts([ids], [prompt], limit)
        return ids, spans, count

    def _in_case(self, texts: list[str]) -> list[str]:
        return [text.lower() for text in texts] if self.lower_case else texts

    def _after_prompts(self, ids: list[list[int]], prompts: list[str], limit: int) -> list[list[int]]:
        """Token ids of texts after prompts that the pooling leaves out."""
        lengths = {"": 0}
        for prompt in set(prompts) - {""}:
            # by itself, but for a special token at its end, as sentence-transformers counts them
            (own,) = self._numbers(self._in_case([prompt]), limit)
            lengths[prompt] = len(own) - (own[-1] in self._tokenizer.all_special_ids)
        return [
            PromptedIds(numbers, lengths[prompt]) if prompt else numbers
            for numbers, prompt in zip(ids, prompts, strict=True)
        ]

    def _numbers(self, texts: list[str], most: int | None = None) -> list[list[int]]:
        with tokenizer_errors(f"of '{self.name}'"):
            ids = token_ids(self._tokenizer, texts, most=most)
        return [numbers or self._without_tokens() for numbers in ids]

    def _without_tokens(self) -> list[int]:
        """A sentence without tokens (an empty one, in a model without [CLS]) is encoded as its padding."""
        return [self._padding()]

    def tokenizer(self) -> PreTrainedTokenizerBase:
        """A copy of the tokenizer with this encoder's limit, padded on the right."""
        with self._tokenizer_lock:
            own = copy.deepcopy(self._tokenizer)
        own.model_max_length, own.padding_side = self.max_length, "right"
        return own

    def texts(self, ids: Sequence[int]) -> tuple[str, ...]:
        """The text of each token."""
        with self._tokenizer_lock, tokenizer_errors(f"of '{self.name}'"):
            return tuple(self._tokenizer.decode([number], clean_up_tokenization_spaces=False) for number in ids)

    def _padding(self) -> int:
        number: int = self._tokenizer.pad_token_id  # loading ensures that there is one
        return number


def _check_cut(name: str, ids: Sequence[Sequence[int]], limit: int) -> None:
    if max(map(len, ids), default=0) > limit:
        raise UnsupportedModel(
            f"'{name}' cannot truncate a sentence to {limit} tokens: the post_processor in its tokenizer.json "
            "puts it in more than once. Copy the tokenizer.json that was saved with the weights."
        )


@contextmanager
def tokenizer_errors(tokenizer: str) -> Iterator[None]:
    """Turn errors of the tokenizers library into a model error: plain Exceptions, and panics, which are none.

    The tokenizer is named in the error. An interrupt or the end of the process is no panic.
    """
    try:
        yield
    except BaseException as error:
        # PanicException is of pyo3, which exports no such name
        if type(error) is not Exception and type(error).__name__ != "PanicException":
            raise
        reason = " ".join(str(error).split())[:200]
        raise TokenizerMissing(
            f"The tokenizer {tokenizer} is damaged: the tokenizers library broke off ({reason}). Copy or download its "
            "files again."
        ) from error
