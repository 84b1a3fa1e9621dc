"""Take the cosine of the two sentences of every pair, under every layer and pooling of an encoder, in float64.

The cosines of [CLS] in low layers differ by 2e-6 and are close to 1, where float32 has steps of 6e-8: their order, and
with it Spearman's ρ, would be lost. Vectors are float32, as the encoder gives them.

Every sentence is encoded once, and vectors are dropped when their pairs are done, so memory does not grow with the set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explorer.data.text_sets import GradedPairs
from explorer.encoding.read.pooling import Reading
from explorer.progress import Phase, Progress, Work

if TYPE_CHECKING:
    from torch import Tensor

    from explorer.encoding.read.encoder import Encoder, Views

# limits the memory of a chunk's vectors under every layer & pooling
VECTORS_BYTES = 128 * 2**20

Cosines = NDArray[np.float64]
Places = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class PairCosines:
    """Cosines `grid` (row, pooling, pair), and (pair) under the model default, if one is declared, and under each
    layer & pooling outside of the grid that was asked for."""

    grid: Cosines
    own: Cosines | None
    also: Mapping[Reading, Cosines]


@dataclass(frozen=True)
class Chunk:
    """Some pairs and their sentences; `first` and `second` are indices of `sentences`."""

    pairs: Places
    sentences: Places
    first: Places
    second: Places


def pair_cosines(
    encoder: Encoder, pairs: GradedPairs, ids: list[list[int]], also: Sequence[Reading] = ()
) -> Work[PairCosines]:
    """The cosines of all pairs; `ids` are the tokens of `pairs.sentences`."""
    first, second, ids = _places(pairs, ids)
    lengths = [len(numbers) for numbers in ids]
    # `also` has no part in it: a layer & pooling has the same chunks, and so the same digits, whenever it is asked for
    most = max(2, VECTORS_BYTES // (len(encoder.rows) * len(encoder.poolings) * encoder.width * 4))

    whole = PairCosines(
        np.empty((len(encoder.rows), len(encoder.poolings), len(pairs))),
        np.empty(len(pairs)) if encoder.head else None,
        {one: np.empty(len(pairs)) for one in encoder.outside(also)},
    )
    done, total = 0, sum(lengths)
    for chunk in chunks(first, second, lengths, most):
        of_chunk = [ids[place] for place in chunk.sentences]
        # a separate function, so that a chunk's vectors are freed before the next
        found = yield from _chunk_cosines(
            encoder, chunk, of_chunk, Progress(Phase.ENCODING_TOKENS, done, total), tuple(whole.also)
        )
        whole.grid[:, :, chunk.pairs] = found.grid
        if whole.own is not None:
            whole.own[chunk.pairs] = found.own
        for one, cosines in whole.also.items():
            cosines[chunk.pairs] = found.also[one]
        done += sum(map(len, of_chunk))
    return whole


def _places(pairs: GradedPairs, ids: list[list[int]]) -> tuple[Places, Places, list[list[int]]]:
    """The sentences of every pair as indices into a list of distinct token sequences, and that list.

    Equal token sequences are encoded once: in two batches their vectors would differ by rounding, and their cosines
    would not tie.
    """
    heads: dict[tuple[int, ...], int] = {}
    numbers = [heads.setdefault(tuple(tokens), len(heads)) for tokens in ids]
    place = dict(zip(pairs.sentences, numbers, strict=True))
    first, second = (np.array([place[text] for text in side], dtype=np.intp) for side in (pairs.first, pairs.second))
    return first, second, [list(tokens) for tokens in heads]


def _chunk_cosines(
    encoder: Encoder, chunk: Chunk, ids: list[list[int]], so_far: Progress, also: tuple[Reading, ...]
) -> Work[PairCosines]:
    """The cosines of a chunk's pairs; `ids` are the tokens of its sentences."""
    vectors = _Vectors(encoder, len(ids), also)
    done = so_far.done
    for views in encoder.views_of(ids, also):
        vectors.take(views)
        done += sum(len(ids[place]) for place in views.positions)
        del views  # free the memory before the next chunk
        # a divided family is encoded twice, so cap the progress
        yield replace(so_far, done=min(done, so_far.total))
    sides = chunk.first, chunk.second
    return PairCosines(
        # cell by cell, to save memory
        np.stack([[exact_cosines(cell, *sides) for cell in row] for row in vectors.grid]),
        None if vectors.own is None else exact_cosines(vectors.own, *sides),
        {one: exact_cosines(each, *sides) for one, each in vectors.also.items()},
    )


class _Vectors:
    """The vectors of a chunk's sentences: `grid` (row, pooling, sentence, width), and (sentence, width) `own` and
    `also`."""

    def __init__(self, encoder: Encoder, sentences: int, also: tuple[Reading, ...]) -> None:
        import torch

        shape = (len(encoder.rows), len(encoder.poolings), sentences, encoder.width)
        self.grid = torch.empty(shape, device=encoder.device)
        self.own: Tensor | None = None
        self.also = {one: torch.empty(shape[2:], device=encoder.device) for one in also}

    def take(self, views: Views) -> None:
        """Store a batch."""
        import torch

        places = torch.tensor(views.positions).to(self.grid.device, non_blocking=True)
        self.grid.index_copy_(2, places, views.grid)
        for one, vectors in self.also.items():
            vectors[places] = views.also[one]
        if views.own is not None:
            if self.own is None:
                self.own = views.own.new_empty(self.grid.shape[2], views.own.shape[-1])
            self.own[places] = views.own


def exact_cosines(vectors: Tensor, first: Places, second: Places) -> Cosines:
    """Cosines (pair) of vectors (sentence, width) at the indices `first` and `second`; 0 for a zero vector.

    Computed as 1 - d²/2, with d the distance of the normalised vectors: equal vectors have exactly 1, so that they tie,
    and small distances keep their precision.
    """
    import torch

    exact = vectors.cpu() if vectors.device.type == "mps" else vectors  # Apple's GPUs have no float64
    exact = exact.to(torch.float64)
    lengths = torch.linalg.vector_norm(exact, dim=-1)
    empty = lengths == 0
    unit = exact / torch.where(empty, 1.0, lengths)[:, None]
    of_first, of_second = (torch.as_tensor(side, device=exact.device) for side in (first, second))
    # summed by torch, since a matrix product can sum equal rows in another order
    squared = (unit[of_first] - unit[of_second]).square_().sum(-1)
    cosines: Cosines = torch.where(empty[of_first] | empty[of_second], 0.0, 1 - squared / 2).cpu().numpy()
    return cosines


def chunks(first: Places, second: Places, lengths: Sequence[int], most: int) -> Iterator[Chunk]:
    """All pairs, in chunks of about `most` sentences; pairs that share a sentence stay together.

    `first` and `second` are the sentences of each pair, `lengths` the lengths of the sentences. Families of pairs come
    longest first, so that the batches of a chunk have little padding. Only a family larger than a chunk is divided,
    and then a sentence is encoded twice.
    """
    batch: list[int] = []
    seen: set[int] = set()
    for pair in _by_family(first, second, np.asarray(lengths)):
        new = {int(first[pair]), int(second[pair])} - seen
        if batch and len(seen) + len(new) > most:
            yield _chunk(np.array(batch), first, second)
            batch, seen, new = [], set(), {int(first[pair]), int(second[pair])}
        batch.append(int(pair))
        seen |= new
    if batch:
        yield _chunk(np.array(batch), first, second)


def _by_family(first: Places, second: Places, lengths: Places) -> Places:
    """An order of pairs in which those that share sentences, directly or through others, are adjacent."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    links = coo_array((np.ones(len(first)), (first, second)), shape=(len(lengths), len(lengths)))
    _, family = connected_components(links, directed=False)
    longest = np.zeros(family.max() + 1, dtype=np.intp)
    np.maximum.at(longest, family, lengths)
    order: Places = np.lexsort((family[first], -longest[family[first]]))
    return order


def _chunk(pairs: Places, first: Places, second: Places) -> Chunk:
    sentences, places = np.unique(np.concatenate([first[pairs], second[pairs]]), return_inverse=True)
    return Chunk(pairs, sentences, places[: len(pairs)], places[len(pairs) :])
