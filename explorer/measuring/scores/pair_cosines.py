"""Take the cosine of the two sentences of every pair, under every layer & pooling of an encoder, in float64.

The cosines of [CLS] in low layers differ by 2e-6 and are close to 1, where float32 has steps of 6e-8: their order, and
with it Spearman's ρ, would be lost. Vectors are float32, as the encoder gives them.

Every sentence is encoded once, and vectors are dropped when their pairs are done, so memory does not grow with the set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from explorer.data.text_sets import GradedPairs
from explorer.encoding.load import hardware
from explorer.encoding.read.head_facts import UNLIMITED
from explorer.encoding.read.pooling import GRID_POOLINGS, OWN, Reading, Row, cell_of
from explorer.encoding.read.prompts import left_out
from explorer.errors import BadChoice
from explorer.measuring.scores.correlation import ROUNDOFF
from explorer.progress import Phase, Progress, Work

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from explorer.encoding.read.encoder import Encoder

Cosines = NDArray[np.float64]
Places = NDArray[np.intp]

# why a layer & pooling has no score, by precision
NOT_MEASURABLE = "not measurable in {}: switch precision to float32"
NOT_MEASURED = "Not measurable in {}: {}. Switch precision to float32."  # of several, by precision
NOT_FINITE = "not a number: the model gives some sentences vectors with NaN or infinite numbers"
ARE_NOT_FINITE = (  # of several
    "Not a number: {}. The model gives some sentences vectors with NaN or infinite numbers: copy or download it again, "
    "or choose another layer & pooling."
)


@dataclass(frozen=True, eq=False, kw_only=True)
class EncodedWith:
    """The settings that sentences were encoded with, and what became of long ones."""

    precision: str
    device: str
    max_length: int
    truncated: int
    sentences: int
    seconds: float
    in_windows: int = 0  # passages that are longer than the limit, and were read in several windows
    device_name: str = ""  # as people call it; scores that were stored by version 0.1.0 have none

    @property
    def where(self) -> str:
        """What computed them, as people call it: `NVIDIA H100 80GB HBM3`, or `a GPU` if its name is not known."""
        return self.device_name or hardware.KINDS.get(self.device, self.device)

    @property
    def limit(self) -> int | None:
        """The tokens that were read of a sentence at most; None of vectors that another program computed."""
        return None if self.max_length == UNLIMITED else self.max_length


@dataclass(frozen=True, eq=False, kw_only=True)
class GridCosines(EncodedWith):
    """One cosine per (row, pooling, pair).

    `also` has the cosines (pair) of layers & poolings outside of the grid that were asked for. The cosines of a layer &
    pooling that the precision cannot measure are NaN, and so are those of vectors that are `not_finite`.
    """

    rows: tuple[Row, ...]
    cosines: Cosines
    own: Cosines | None  # (pair), under the model default, if one is declared
    own_title: str
    poolings: tuple[str, ...] = GRID_POOLINGS
    also: Mapping[Reading, Cosines] = field(default_factory=dict)
    not_finite: tuple[Reading, ...] = ()

    @property
    def last(self) -> int:
        """The number of the last layer."""
        return max(row.layers[-1] for row in self.rows)

    @property
    def grid(self) -> tuple[Reading, ...]:
        """Every cell of the grid, in its order."""
        return tuple(Reading(row, pooling) for row in self.rows for pooling in self.poolings)

    def place(self, reading: Reading) -> tuple[int, int] | None:
        """The position of a layer & pooling in the grid; None if it is not in it."""
        return cell_of(reading, self.rows, self.poolings)

    def cosines_of(self, reading: Reading) -> Cosines:
        """The cosines (pair) of one layer & pooling."""
        if reading == OWN:
            if self.own is None:
                raise BadChoice("This model declares no model default. Choose a layer & pooling.")
            return self.own
        cell = self.place(reading)
        if cell is not None:
            of_cell: Cosines = self.cosines[cell]
            return of_cell
        if reading not in self.also:
            raise BadChoice(
                f"'{reading.title}' was not scored: it is not a cell of the grid ({', '.join(self.poolings)} of each "
                "layer and of pairs). Ask for it when the model is scored."
            )
        return self.also[reading]

    def lacks(self, readings: Sequence[Reading]) -> bool:
        """Whether one of these is neither a cell of the grid, nor the model default, nor was asked for."""
        return any(one != OWN and self.place(one) is None and one not in self.also for one in readings)

    def only(self, readings: Sequence[Reading]) -> Self:
        """The same with no other layers & poolings outside of the grid than the given ones."""
        kept = {one: self.also[one] for one in readings if one in self.also}
        return self if kept.keys() == self.also.keys() else replace(self, also=kept)

    def is_measured(self, reading: Reading) -> bool:
        """Whether the pairs can be ranked; if not, cosines are missing."""
        return not np.isnan(self.cosines_of(reading)).any()

    def why_not_measured(self, reading: Reading) -> str:
        """The reason why the pairs cannot be ranked: the vectors, or the rounding of the precision."""
        return NOT_FINITE if self._is_not_finite(reading) else NOT_MEASURABLE.format(self.precision)

    def _is_not_finite(self, reading: Reading) -> bool:
        return reading in self.not_finite or self.precision not in ROUNDOFF

    @cached_property
    def not_measured(self) -> tuple[Reading, ...]:
        """The layers & poolings under which the pairs cannot be ranked."""
        own = (OWN,) if self.own is not None else ()
        return tuple(reading for reading in (*self.grid, *self.also, *own) if not self.is_measured(reading))

    @property
    def not_measured_text(self) -> str:
        """What cannot be measured and what to do; "" if everything is measured."""
        broken = ", ".join(reading.title for reading in self.not_measured if self._is_not_finite(reading))
        rounded = ", ".join(reading.title for reading in self.not_measured if not self._is_not_finite(reading))
        parts = (ARE_NOT_FINITE.format(broken) if broken else "", NOT_MEASURED.format(self.precision, rounded))
        return " ".join(filter(None, parts if rounded else parts[:1]))


def pair_cosines(
    encoder: Encoder, pairs: GradedPairs, ids: list[list[int]], also: Sequence[Reading] = ()
) -> Work[tuple[Cosines, dict[Reading, Cosines]]]:
    """The cosines of all pairs in the grid (row, pooling, pair); and (pair) under the model default, if declared, and
    each layer & pooling of `also` outside of the grid. `ids` are the tokens of `pairs.sentences`."""
    from explorer.encoding.read.batching import limits_of

    # Equal token sequences are encoded once: in two batches their vectors would differ by rounding, and their cosines
    # would not tie.
    distinct = {(left_out(tokens), *tokens): tokens for tokens in ids}  # which know what of a prompt is not pooled
    number = {key: at for at, key in enumerate(distinct)}
    numbers = [number[left_out(tokens), *tokens] for tokens in ids]
    place, ids = dict(zip(pairs.sentences, numbers, strict=True)), [*distinct.values()]
    first, second = (np.array([place[text] for text in side], dtype=np.intp) for side in (pairs.first, pairs.second))
    lengths = [len(tokens) for tokens in ids]
    # `also` has no part in it: a layer & pooling has the same chunks, and so the same digits, whenever it is asked for
    limits = limits_of(encoder.device)
    most = min(max(2, limits.vectors // encoder.bytes_of_views), limits.sentences)

    grid = np.empty((len(encoder.rows), len(encoder.poolings), len(pairs)))
    alone = (*((OWN,) if encoder.head else ()), *encoder.outside(also))
    of_each = {one: np.empty(len(pairs)) for one in alone}
    done, total = 0, sum(lengths)
    for chunk in chunks(first, second, lengths, most):
        sentences, places = np.unique(np.concatenate([first[chunk], second[chunk]]), return_inverse=True)
        of_chunk = [ids[sentence] for sentence in sentences]
        # a separate function, so that a chunk's vectors are freed before the next
        in_grid, under = yield from _chunk_cosines(
            encoder, of_chunk, np.split(places, 2), Progress(Phase.ENCODING_TOKENS, done, total), alone
        )
        grid[:, :, chunk] = in_grid
        for one, cosines in under.items():
            of_each[one][chunk] = cosines
        done += sum(map(len, of_chunk))
    return grid, of_each


def _chunk_cosines(
    encoder: Encoder, ids: list[list[int]], sides: Sequence[Places], so_far: Progress, alone: tuple[Reading, ...]
) -> Work[tuple[Cosines, dict[Reading, Cosines]]]:
    """The cosines of a chunk's pairs; `ids` are the tokens of its sentences, `sides` the sentences of its pairs."""
    import torch

    shape = (len(encoder.rows), len(encoder.poolings), len(ids), encoder.width)
    grid, vectors = torch.empty(shape, device=encoder.device), dict[Reading, "Tensor"]()
    done = so_far.done
    for views in encoder.views_of(ids, alone):
        places = torch.tensor(views.positions).to(grid.device, non_blocking=True)
        grid.index_copy_(2, places, views.grid)
        for one, part in {**views.also, **({} if views.own is None else {OWN: views.own})}.items():
            if one not in vectors:
                vectors[one] = part.new_empty(len(ids), part.shape[-1])
            vectors[one][places] = part
        done += sum(len(ids[place]) for place in views.positions)
        del views  # free the memory before the next chunk
        # a divided family is encoded twice, so cap the progress
        yield replace(so_far, done=min(done, so_far.total))
    # cell by cell, to save memory; and together to the processor, which waits for a GPU once
    first, second = (torch.as_tensor(side, device=_of_float64(grid)) for side in sides)
    in_grid = torch.stack([_cosines(cell, first, second) for row in grid for cell in row]).view(*shape[:2], -1)
    return in_grid.cpu().numpy(), {one: exact_cosines(each, *sides) for one, each in vectors.items()}


def exact_cosines(vectors: Tensor, first: Places, second: Places) -> Cosines:
    """Cosines (pair) of vectors (sentence, width) at the indices `first` and `second`; 0 for a zero vector.

    Computed as 1 - d²/2, with d the distance of the normalised vectors: equal vectors have exactly 1, so that they tie,
    and small distances keep their precision.
    """
    import torch

    one, other = (torch.as_tensor(side, device=_of_float64(vectors)) for side in (first, second))
    cosines: Cosines = _cosines(vectors, one, other).cpu().numpy()
    return cosines


def _of_float64(vectors: Tensor) -> str | torch.device:
    """The device that computes exactly: Apple's GPUs have no float64."""
    return "cpu" if vectors.device.type == "mps" else vectors.device


def _cosines(vectors: Tensor, first: Tensor, second: Tensor) -> Tensor:
    import torch

    exact = vectors.to(_of_float64(vectors)).to(torch.float64)
    lengths = torch.linalg.vector_norm(exact, dim=-1)
    empty = lengths == 0
    unit = exact / torch.where(empty, 1.0, lengths)[:, None]
    # summed by torch, since a matrix product can sum equal rows in another order
    squared = (unit[first] - unit[second]).square_().sum(-1)
    return torch.where(empty[first] | empty[second], 0.0, 1 - squared / 2)


def chunks(first: Places, second: Places, lengths: Sequence[int], most: int) -> Iterator[Places]:
    """All pairs, in chunks of about `most` sentences; pairs that share a sentence stay together.

    `first` and `second` are the sentences of each pair, `lengths` the lengths of the sentences. Families of pairs come
    longest first, so that the batches of a chunk have little padding. Only a family larger than a chunk is divided,
    and then a sentence is encoded twice.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    # a family: pairs that share sentences, directly or through others
    links = coo_array((np.ones(len(first)), (first, second)), shape=(len(lengths), len(lengths)))
    _, family = connected_components(links, directed=False)
    longest = np.zeros(family.max() + 1, dtype=np.intp)
    np.maximum.at(longest, family, np.asarray(lengths))
    batch: list[int] = []
    seen: set[int] = set()
    for pair in np.lexsort((family[first], -longest[family[first]])):
        new = {int(first[pair]), int(second[pair])} - seen
        if batch and len(seen) + len(new) > most:
            yield np.array(batch)
            batch, seen, new = [], set(), {int(first[pair]), int(second[pair])}
        batch.append(int(pair))
        seen |= new
    if batch:
        yield np.array(batch)
