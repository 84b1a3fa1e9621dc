"""Encode sentences with a loaded model: the states of every layer, under every layer & pooling."""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from explorer.encoding.read.head import Head
from explorer.encoding.read.head_facts import NO_PROMPTS, RolePrompts
from explorer.encoding.read.pooling import FUNCTIONS, GRID_POOLINGS, OWN, Reading, Row, cell_of, pooled, rows
from explorer.errors import BadChoice, TokenizerMissing, UnsupportedModel
from explorer.progress import Progress, Work

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

# fewest tokens of a pass: below it, mixing lengths costs less than another pass
BUSY = 1024
# in training, the numbers of sentences and tokens of a pass are multiples of these: a processor prepares each shape of
# a matrix product once, which takes longer than the product, and caches a thousand shapes
ROWS, COLUMNS = 8, 4


@dataclass(frozen=True)
class States:
    """Every layer's token states; `hidden` is (layer, sentence, token, width), `mask` is (sentence, token).

    In training the layers are a tuple, since stacking would copy them.
    """

    hidden: Tensor | tuple[Tensor, ...]
    mask: Tensor


@dataclass(frozen=True)
class Tokens:
    """Sentences as token ids, in the caller's order, and how many were truncated."""

    ids: list[list[int]]
    truncated: int


@dataclass(frozen=True)
class Views:
    """One batch under every layer & pooling.

    `grid` is (row, pooling, sentence, width) and `own`, the model default if one is declared, is
    (sentence, width); `also` has the same under each layer & pooling outside of the grid that was asked for.
    `positions` are the caller's positions of the batch's sentences.
    """

    positions: list[int]
    grid: Tensor
    own: Tensor | None
    also: Mapping[Reading, Tensor]


class Encoder:
    """A loaded model that encodes sentences. It never changes, so threads can share it."""

    at_once = 8192  # texts that are tokenised between two progress reports

    def __init__(
        self,
        *,
        name: str,
        digest: str,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        max_length: int,
        head: Head | None,
        lower_case: bool,
        precision: str,
        device: str,
        folder: Path | None = None,
        poolings: tuple[str, ...] = GRID_POOLINGS,
    ) -> None:
        self.name = name
        self.digest = digest
        self.folder = folder  # of the transformer
        self.model = model
        self.max_length = max_length
        self.head = head
        self.lower_case = lower_case
        self.precision = precision
        self.device = device
        self.width: int = model.config.hidden_size
        self.rows: tuple[Row, ...] = rows(model.config.num_hidden_layers)
        self.poolings = poolings  # of the grid
        # limits of a batch: more tokens are not faster, and bytes of every layer, and under every layer & pooling
        tokens, states, views = (2**12, 96 * 2**20, 32 * 2**20) if device == "cpu" else (2**15, 2**30, 256 * 2**20)
        state = (model.config.num_hidden_layers + 1) * self.width * (2 if precision == "bfloat16" else 4)
        self._most_tokens = max(256, min(tokens, states // state))
        self._most_sentences = max(1, views // (len(self.rows) * len(self.poolings) * self.width * 4))
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
        return NO_PROMPTS if self.default_head.prompt else self.default_head.roles

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
        texts = [prompt + text for text in sentences]
        if self.lower_case:
            texts = [text.lower() for text in texts]
        with self._tokenizer_lock:
            ids = self._numbers(texts)
            too_long = [place for place, numbers in enumerate(ids) if len(numbers) > limit]
            if too_long:
                cut = self._numbers([texts[place] for place in too_long], truncation=True, max_length=limit)
                for place, numbers in zip(too_long, cut, strict=True):
                    ids[place] = numbers
                self._check_cut(cut, limit)
        return Tokens(ids=ids, truncated=len(too_long))

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
        texts = [prompt + text for text in sentences]
        with self._tokenizer_lock:
            return [len(ids) for ids in self._numbers([text.lower() if self.lower_case else text for text in texts])]

    def spans(self, sentence: str) -> tuple[str, list[tuple[int, int, int]]]:
        """A sentence as it is tokenised, and of each of its tokens the word, the start and the end in it."""
        text = sentence.lower() if self.lower_case else sentence
        with self._tokenizer_lock, tokenizer_errors(f"of '{self.name}'"):
            found = self._tokenizer(text, return_offsets_mapping=True, add_special_tokens=False, verbose=False)
        tokens = zip(found.word_ids(), found["offset_mapping"], strict=True)
        return text, [(word or 0, start, end) for word, (start, end) in tokens if end > start]

    def words(self, sentence: str, limit: int) -> tuple[list[int], list[tuple[int, int, int] | None], int]:
        """A sentence's token ids, truncated; the word of each with its start and end; and how many it has untruncated.

        The word is None for special tokens and those of the prompt.
        """
        text, begin = self.default_head.prompt + sentence, len(self.default_head.prompt)
        text = text.lower() if self.lower_case else text
        with self._tokenizer_lock, tokenizer_errors(f"of '{self.name}'"):
            found = self._tokenizer(text, return_offsets_mapping=True, verbose=False)
            count = len(found["input_ids"])
            if count > limit:
                cut = {"truncation": True, "max_length": limit}
                found = self._tokenizer(text, return_offsets_mapping=True, verbose=False, **cut)
        self._check_cut([found["input_ids"]], limit)
        spans = [
            None if word is None or end <= begin else (word, max(start - begin, 0), end - begin)
            for word, (start, end) in zip(found.word_ids(), found["offset_mapping"], strict=True)
        ]
        return found["input_ids"] or [self._padding()], spans, count

    def _check_cut(self, ids: Sequence[Sequence[int]], limit: int) -> None:
        if max(map(len, ids), default=0) > limit:
            raise UnsupportedModel(
                f"'{self.name}' cannot truncate a sentence to {limit} tokens: the post_processor in its tokenizer.json "
                "puts it in more than once. Copy the tokenizer.json that was saved with the weights."
            )

    def states(self, sentences: Sequence[str], max_length: int | None = None) -> States:
        """Every layer of one batch of sentences."""
        ids, mask = self.padded(self.tokens(sentences, max_length).ids)
        with torch.inference_mode():
            return States(hidden=torch.stack(self._hidden(ids, mask)), mask=mask)

    def outside(self, named: Sequence[Reading]) -> tuple[Reading, ...]:
        """The layers & poolings among these that are neither cells of the grid nor the model default."""
        return tuple(one for one in named if one != OWN and cell_of(one, self.rows, self.poolings) is None)

    def views(
        self, sentences: Sequence[str], max_length: int | None = None, also: Sequence[Reading] = ()
    ) -> Iterator[Views]:
        """Every layer & pooling of the grid, and those of `also`, of every sentence, batch by batch, with one pass
        through the model."""
        return self.views_of(self.tokens(sentences, max_length).ids, also)

    def views_of(self, ids: Sequence[list[int]], also: Sequence[Reading] = ()) -> Iterator[Views]:
        """Every layer & pooling of tokenised sentences, as `views` gives them."""
        outside = self.outside(also)
        for positions in self._batches(ids):
            yield self._view([ids[place] for place in positions], positions, outside)

    def under_heads(
        self, sentences: Sequence[str], heads: Sequence[Head]
    ) -> Iterator[tuple[list[int], tuple[Tensor, ...]]]:
        """Vectors (sentence, width) under each of some heads, batch by batch, with the places of its sentences."""
        ids = self.tokens(sentences).ids
        for positions in self._batches(ids):
            with torch.inference_mode():
                padded, mask = self.padded([ids[place] for place in positions])
                hidden = self._hidden(padded, mask)
                vectors = tuple(head(hidden, mask).float().cpu() for head in heads)
            yield positions, vectors

    @torch.inference_mode()
    def _view(self, ids: list[list[int]], positions: list[int], outside: tuple[Reading, ...]) -> Views:
        padded, mask = self.padded(ids)
        real = None if len({len(numbers) for numbers in ids}) == 1 else mask
        hidden = self._hidden(padded, real)
        grid = torch.empty(len(self.rows), len(self.poolings), len(ids), self.width, device=self.device)
        for place, row in enumerate(self.rows):
            # (sentence, token, width): two layers are added token by token as in the papers, and halved after pooling
            states = hidden[row.layers[0]].float()  # once for all poolings, and before bfloat16 rounds a sum
            for layer in row.layers[1:]:
                states = states + hidden[layer]
            for column, pooling in enumerate(self.poolings):
                grid[place, column] = FUNCTIONS[pooling](states, real)
            if len(row.layers) > 1:
                grid[place] /= len(row.layers)
        own = self.head(hidden, real) if self.head else None
        also = {one: pooled(one.title, hidden, real) for one in outside}
        return Views(positions=positions, grid=grid, own=own, also=also)

    def _hidden(self, ids: Tensor, mask: Tensor | None) -> tuple[Tensor, ...]:
        # without padding no mask is passed: attention is faster without one
        attention = None if mask is None else mask.long()
        try:
            return every_layer(self.model, input_ids=ids, attention_mask=attention)
        except IndexError as error:  # a word is encoded on loading, but positions may be wrong further on
            raise UnsupportedModel(
                f"'{self.name}' cannot encode a sentence of {ids.shape[1]} tokens: its config.json leads to positions "
                "that its weights do not have. Copy the config.json that was saved with the weights."
            ) from error

    def _numbers(self, texts: list[str], **options: object) -> list[list[int]]:
        with tokenizer_errors(f"of '{self.name}'"):
            ids: list[list[int]] = self._tokenizer(
                texts, return_attention_mask=False, return_token_type_ids=False, verbose=False, **options
            )["input_ids"]
        # a sentence without tokens (an empty one, in a model without [CLS]) is encoded as its padding
        return [numbers or [self._padding()] for numbers in ids]

    def padded(
        self, ids: Sequence[list[int]], device: str | torch.device | None = None, width: int = 0
    ) -> tuple[Tensor, Tensor]:
        """Ids (sentence, token), padded on the right to at least `width`, and the mask of real tokens."""
        longest = max(*map(len, ids), min(width, self.max_length))
        blank = self._padding()
        padded = torch.tensor([numbers + [blank] * (longest - len(numbers)) for numbers in ids])
        lengths = torch.tensor([len(numbers) for numbers in ids])
        mask = torch.arange(longest)[None, :] < lengths[:, None]
        where = device or self.device
        return padded.to(where, non_blocking=True), mask.to(where, non_blocking=True)

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

    def _batches(self, ids: Sequence[list[int]]) -> Iterator[list[int]]:
        """The places of tokenised sentences in batches; the longest first, so that a lack of memory shows at once."""
        return batches([len(numbers) for numbers in ids], self._most_tokens, self._most_sentences)


def every_layer(model: nn.Module, **given: Tensor | None) -> tuple[Tensor, ...]:
    """The states of every layer; those of the embedding block alone from a model without layers."""
    found = model(output_hidden_states=True, **given)
    states: tuple[Tensor, ...] = found.hidden_states or (found.last_hidden_state,)
    return states


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


def batches(lengths: Sequence[int], budget: int, most: int) -> Iterator[list[int]]:
    """Positions of sentences, longest first, in batches of at most `most` sentences and `budget` tokens, or of one.

    Sentences of one length form a batch without padding or mask; lengths are mixed only if too few sentences of one
    length are left to use the machine fully.
    """
    longest_first = sorted(range(len(lengths)), key=lambda place: -lengths[place])
    batch: list[int] = []
    for place in longest_first:
        if batch:
            width = lengths[batch[0]]
            full = (len(batch) + 1) * width > budget or len(batch) == most
            shorter = lengths[place] < width and len(batch) * width >= min(BUSY, budget)
            if full or shorter:
                yield batch
                batch = []
        batch.append(place)
    if batch:
        yield batch


def passes(lengths: Sequence[int], price: int) -> list[tuple[list[int], int]]:
    """Positions of sentences in the passes of least total cost, longest first, with the width of each pass.

    A pass costs its padded tokens plus `price` tokens of overhead. Passes have few shapes only, see above.
    """
    longest_first = sorted(range(len(lengths)), key=lambda place: -lengths[place])
    cuts = [*range(0, len(lengths), ROWS), len(lengths)]
    widths = [-(-lengths[longest_first[cut]] // COLUMNS) * COLUMNS for cut in cuts[:-1]]
    # cheapest[n]: the cost of the sentences before the n-th cut, and the cut at which their last pass begins
    cheapest: list[tuple[int, int]] = [(0, 0)]
    for end in range(1, len(cuts)):
        costs = (cheapest[start][0] + (cuts[end] - cuts[start]) * widths[start] + price for start in range(end))
        cheapest.append(min(zip(costs, range(end), strict=True)))
    made, end = [], len(cuts) - 1
    while end:
        start = cheapest[end][1]
        made.append((sorted(longest_first[cuts[start] : cuts[end]]), widths[start]))
        end = start
    return made[::-1]


def in_order(parts: Iterable[tuple[list[int], Tensor]]) -> Tensor:
    """Join rows that were computed in parts, in the order of their places."""
    places, rows = zip(*parts, strict=True)
    back = torch.tensor([place for part in places for place in part]).argsort()
    return torch.cat(rows)[back.to(rows[0].device, non_blocking=True)]
