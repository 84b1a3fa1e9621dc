"""Take the cosine of the two sentences of every pair, under every layer and pooling of an encoder, in float64.

The cosines of [CLS] in low layers differ by 2e-6 and are close to 1, where float32 has steps of 6e-8: their order, and
with it Spearman's ρ, would be lost. Vectors are float32, as the encoder gives them.

Every sentence is encoded once, and vectors are dropped when their pairs are done, so memory does not grow with the set.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explorer.data.text_sets import GradedPairs
from explorer.encoding.read.pooling import OWN, Reading
from explorer.progress import Phase, Progress, Work

if TYPE_CHECKING:
    from torch import Tensor

    from explorer.encoding.read.encoder import Encoder

# limit the memory of a chunk's vectors under every layer & pooling; more than that makes nothing faster
VECTORS_BYTES = 128 * 2**20
SENTENCES = 1024

Cosines = NDArray[np.float64]
Places = NDArray[np.intp]


def pair_cosines(
    encoder: Encoder, pairs: GradedPairs, ids: list[list[int]], also: Sequence[Reading] = ()
) -> Work[tuple[Cosines, dict[Reading, Cosines]]]:
    """The cosines of all pairs in the grid (row, pooling, pair); and (pair) under the model default, if declared, and
    each layer & pooling of `also` outside of the grid. `ids` are the tokens of `pairs.sentences`."""
    # Equal token sequences are encoded once: in two batches their vectors would differ by rounding, and their cosines
    # would not tie.
    heads: dict[tuple[int, ...], int] = {}
    numbers = [heads.setdefault(tuple(tokens), len(heads)) for tokens in ids]
    place, ids = dict(zip(pairs.sentences, numbers, strict=True)), [list(tokens) for tokens in heads]
    first, second = (np.array([place[text] for text in side], dtype=np.intp) for side in (pairs.first, pairs.second))
    lengths = [len(tokens) for tokens in ids]
    # `also` has no part in it: a layer & pooling has the same chunks, and so the same digits, whenever it is asked for
    most = VECTORS_BYTES // (len(encoder.rows) * len(encoder.poolings) * encoder.width * 4)
    most = min(max(2, most), SENTENCES)

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
    in_grid = np.stack([[exact_cosines(cell, *sides) for cell in row] for row in grid])  # cell by cell, to save memory
    return in_grid, {one: exact_cosines(each, *sides) for one, each in vectors.items()}


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
