"""Encode sentences with a loaded model: the states of every layer, under every layer & pooling."""

from __future__ import annotations

import copy
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from explorer.encoding.read import attention
from explorer.encoding.read.ahead import fetched, made_ahead
from explorer.encoding.read.batching import batches, limits_of
from explorer.encoding.read.head import Head
from explorer.encoding.read.pooling import FUNCTIONS, GRID_POOLINGS, OWN, Reading, Row, cell_of, pooled, rows
from explorer.encoding.read.prompts import left_out
from explorer.encoding.read.tokenising import Tokenising, Tokens
from explorer.errors import UnsupportedModel
from explorer.progress import Work

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

# so many layers & poolings are pooled one by one, and wait in pinned memory for the next batch; more as a grid
FEW = 4
# texts as tokens, in parts, with the place of the first text of each
Parts = Generator[tuple[int, Tokens], None, None]
Vectors = tuple[Tensor, ...]  # (sentence, width), of each of some readings or heads


@dataclass(frozen=True)
class States:
    """Every layer's token states; `hidden` is (layer, sentence, token, width), `mask` is (sentence, token).

    The mask is true for the tokens that are pooled: those of a prompt may be left out.
    In training the layers are a tuple, since stacking would copy them.
    """

    hidden: Tensor | tuple[Tensor, ...]
    mask: Tensor


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


class Encoder(Tokenising):
    """A loaded model that encodes sentences. It never changes, so threads can share it."""

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
        super().__init__(name, tokenizer, max_length, head, lower_case=lower_case)
        self.digest = digest
        self.folder = folder  # of the transformer
        self.model = model
        self.precision = precision
        self.device = device
        self.unprompted: Encoder | None = None  # the same with the model's own prompt, if another one is chosen
        self.width: int = model.config.hidden_size
        self.rows: tuple[Row, ...] = rows(model.config.num_hidden_layers)
        self.poolings = poolings  # of the grid
        if device != "cpu":
            attention.take_masks_as_given()
        self.bytes_of_views = len(self.rows) * len(poolings) * self.width * 4  # of a sentence, under the whole grid
        self._limits = limits_of(device)
        state = (model.config.num_hidden_layers + 1) * self.width * (2 if precision == "bfloat16" else 4)
        self._most_tokens = max(256, min(self._limits.tokens, self._limits.states // state))
        self._most_sentences = max(1, self._limits.views // self.bytes_of_views)

    def after_prompt(self, prompt: str, digest: str) -> Encoder:
        """A copy that shares the weights, and puts a prompt before every text in place of the model's own."""
        found, head = copy.copy(self), self.default_head
        found.head = replace(head, prompt=prompt, roles=replace(head.roles, query=prompt))
        found.digest, found.unprompted = digest, self
        found.check_room("chosen", prompt, found.max_length)
        return found

    def with_model(
        self, model: PreTrainedModel, digest: str, head: Head | None, tokenizer: PreTrainedTokenizerBase | None = None
    ) -> Encoder:
        """An encoder with the limits, the precision and the name of this one, and what it has in place of its own."""
        return type(self)(
            name=self.name,
            digest=digest,
            model=model,
            tokenizer=tokenizer or self.tokenizer(),
            max_length=self.max_length,
            head=head,
            lower_case=self.lower_case,
            precision=self.precision,
            device=self.device,
            folder=self.folder,
            poolings=self.poolings,
        )

    @property
    def as_used(self) -> Encoder:
        """The same as people use it: with the model's own prompt."""
        return self.unprompted or self

    @property
    def for_search(self) -> Encoder:
        """The same with a chosen prompt as that of queries alone: documents have what the model declares for them."""
        if self.unprompted is None:
            return self
        found = copy.copy(self)
        found.head = replace(self.default_head, prompt="")
        return found

    def states(self, sentences: Sequence[str], max_length: int | None = None) -> States:
        """Every layer of one batch of sentences."""
        ids = self.tokens(sentences, max_length).ids
        padded, mask = self.padded(ids)
        with torch.inference_mode():
            return States(hidden=torch.stack(self._hidden(padded, mask)), mask=to_pool(ids, mask))

    def outside(self, named: Sequence[Reading]) -> tuple[Reading, ...]:
        """The layers & poolings among these that are neither cells of the grid nor the model default."""
        return tuple(one for one in named if one != OWN and cell_of(one, self.rows, self.poolings) is None)

    def views(
        self, sentences: Sequence[str], max_length: int | None = None, also: Sequence[Reading] = ()
    ) -> Iterator[Views]:
        """Every layer & pooling of the grid, and those of `also`, of every sentence, batch by batch, with one pass
        through the model."""
        for start, tokens in self._parts(sentences, max_length):
            for views in self.views_of(tokens.ids, also):
                yield replace(views, positions=[start + place for place in views.positions])

    def parts(self, texts: Sequence[str], max_length: int | None = None, prompt: str | None = None) -> Work[Parts]:
        """Many texts as `tokens` gives them, in parts, with the place of the first text of each: all in one, or ahead
        of a device that computes what has been taken."""
        if self._limits.ahead:
            return self._parts(texts, max_length, prompt)
        tokens = yield from self.tokenised(texts, max_length, prompt)
        return (part for part in [(0, tokens)])

    def _parts(self, texts: Sequence[str], max_length: int | None = None, prompt: str | None = None) -> Parts:
        size = self._limits.ahead
        if not size:
            yield 0, self.tokens(texts, max_length, prompt)
            return

        def part(start: int) -> tuple[int, Tokens]:
            return start, self.tokens(texts[start : start + size], max_length, prompt)

        yield from made_ahead(part, range(0, len(texts), size))

    def views_of(self, ids: Sequence[list[int]], also: Sequence[Reading] = ()) -> Iterator[Views]:
        """Every layer & pooling of tokenised sentences, as `views` gives them."""
        outside = self.outside(also)
        for positions in self._batches(ids):
            yield self._view([ids[place] for place in positions], positions, outside)

    def under_readings(self, parts: Parts, readings: Sequence[Reading]) -> Iterator[tuple[list[int], Vectors]]:
        """Vectors (sentence, width) under each of some layers & poolings, batch by batch, with the places of its
        sentences; of texts as `parts` gives them."""
        few = len(readings) <= FEW

        @torch.inference_mode()
        def under(ids: list[list[int]]) -> Vectors:
            hidden, mask = self._computed(ids)
            real = _needed(mask, ids)
            grid = None if few else self._grid(hidden, real)

            def vectors(reading: Reading) -> Tensor:
                if reading == OWN:
                    assert self.head is not None, "the encoder declares a model default"
                    return self.head(hidden, real)
                cell = cell_of(reading, self.rows, self.poolings)
                return pooled(reading.title, hidden, real) if grid is None or cell is None else grid[cell]

            return tuple(vectors(reading).float() for reading in readings)

        return fetched(self._of_batches(parts, under), self._limits.behind if few else 0)

    def under_heads(self, sentences: Sequence[str], heads: Sequence[Head]) -> Iterator[tuple[list[int], Vectors]]:
        """Vectors (sentence, width) under each of some heads, batch by batch, with the places of its sentences."""

        @torch.inference_mode()
        def under(ids: list[list[int]]) -> Vectors:
            hidden, mask = self._computed(ids)
            return tuple(head(hidden, mask).float() for head in heads)

        return fetched(self._of_batches(self._parts(sentences), under), self._limits.behind)

    def _of_batches(
        self, parts: Parts, under: Callable[[list[list[int]]], Vectors]
    ) -> Iterator[tuple[list[int], Vectors]]:
        """The vectors of the ids of each batch, with the places of its sentences."""
        with closing(parts):  # an error that is kept would keep the thread that tokenises
            for start, tokens in parts:
                for positions in self._batches(tokens.ids):
                    vectors = under([tokens.ids[place] for place in positions])
                    yield [start + place for place in positions], vectors

    @torch.inference_mode()
    def _view(self, ids: list[list[int]], positions: list[int], outside: tuple[Reading, ...]) -> Views:
        hidden, mask = self._computed(ids)
        real = _needed(mask, ids)
        grid = self._grid(hidden, real)
        own = self.head(hidden, real) if self.head else None
        also = {one: pooled(one.title, hidden, real) for one in outside}
        return Views(positions=positions, grid=grid, own=own, also=also)

    def _computed(self, ids: list[list[int]]) -> tuple[tuple[Tensor, ...], Tensor]:
        """The states of every layer, and the mask of the tokens to pool."""
        padded, mask = self.padded(ids)
        return self._hidden(padded, None if _of_one_length(ids) else mask), to_pool(ids, mask)

    def _grid(self, hidden: Sequence[Tensor], real: Tensor | None) -> Tensor:
        """Every layer & pooling (row, pooling, sentence, width) of states (layer, sentence, token, width)."""
        count = len(hidden[0])
        grid = torch.empty(len(self.rows), len(self.poolings), count, self.width, device=self.device)
        at_once = max(1, self._limits.pooled // (4 * hidden[0].numel()))
        for start in range(0, len(self.rows), at_once):
            # (sentence of each row, token, width): two layers are added token by token as in the papers, and halved
            # after pooling; in float32 once for all poolings, and before bfloat16 rounds a sum
            rows = self.rows[start : start + at_once]
            summed = [sum((hidden[layer] for layer in row.layers[1:]), hidden[row.layers[0]].float()) for row in rows]
            states = torch.cat(summed) if len(rows) > 1 else summed[0]
            mask = real.repeat(len(rows), 1) if real is not None and len(rows) > 1 else real
            for column, pooling in enumerate(self.poolings):
                vectors = FUNCTIONS[pooling](states, mask)
                grid[start : start + at_once, column] = vectors.view(len(rows), count, self.width)
        for place, row in enumerate(self.rows):
            if len(row.layers) > 1:
                grid[place] /= len(row.layers)
        return grid

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

    def padded(
        self, ids: Sequence[list[int]], device: str | torch.device | None = None, width: int = 0
    ) -> tuple[Tensor, Tensor]:
        """Ids (sentence, token), padded on the right to at least `width`, and the mask of real tokens."""
        lengths = np.fromiter(map(len, ids), np.int64, len(ids))
        longest = lengths.max(initial=min(width, self.max_length))
        mask = np.arange(longest) < lengths[:, None]
        padded = np.full(mask.shape, self._padding())
        padded[mask] = np.fromiter(chain.from_iterable(ids), np.int64, lengths.sum())
        where = device or self.device
        return _sent(padded, where), _sent(mask, where)

    def _batches(self, ids: Sequence[list[int]]) -> Iterator[list[int]]:
        """The places of tokenised sentences in batches; the longest first, so that a lack of memory shows at once."""
        return batches([len(numbers) for numbers in ids], self._most_tokens, self._most_sentences, self._limits.busy)


def _of_one_length(ids: Sequence[list[int]]) -> bool:
    return len({len(numbers) for numbers in ids}) == 1


def _needed(mask: Tensor, ids: Sequence[list[int]]) -> Tensor | None:
    """The mask of the tokens to pool, None if these are all."""
    return None if _of_one_length(ids) and not any(map(left_out, ids)) else mask


def _sent(array: NDArray[Any], device: str | torch.device) -> Tensor:
    """An array on a device; a GPU copies it from pinned memory while the program goes on."""
    tensor = torch.from_numpy(array)
    if torch.device(device).type == "cuda":
        tensor = tensor.pin_memory()
    return tensor.to(device, non_blocking=True)


def every_layer(model: nn.Module, **given: Tensor | bool | None) -> tuple[Tensor, ...]:
    """The states of every layer; those of the embedding block alone from a model without layers."""
    found = model(output_hidden_states=True, **given)
    states: tuple[Tensor, ...] = found.hidden_states or (found.last_hidden_state,)
    return states


def to_pool(ids: Sequence[list[int]], mask: Tensor) -> Tensor:
    """The mask (sentence, token) of the tokens to pool: real ones, without those of prompts that are left out."""
    counts = list(map(left_out, ids))
    if not any(counts):
        return mask
    first = torch.tensor(counts).to(mask.device, non_blocking=True)
    return mask & (torch.arange(mask.shape[1], device=mask.device) >= first[:, None])
