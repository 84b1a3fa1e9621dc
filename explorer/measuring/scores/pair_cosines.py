"""Take the cosine of the two sentences of every pair, under every layer and pooling of an encoder, in float64.

The cosines of [CLS] in low layers lie within 2e-6 of each other and close to 1, where float32 has steps of 6e-8: their
order, and with it Spearman's ρ, would be lost. Vectors are float32, as the encoder gives them.

Every sentence is encoded once, and vectors are dropped as soon as their pairs are measured: what is held at a time
does not grow with the set.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explorer.data.kinds import GradedPairs
from explorer.encoding.read.readings import GRID_POOLINGS
from explorer.measuring.scores.pair_chunks import Chunk, Places, chunks
from explorer.progress import Progress, Work

if TYPE_CHECKING:
    from torch import Tensor

    from explorer.encoding.read.encoder import Encoder, Views

# the vectors of a chunk of sentences, under every reading, are alive at once: this bounds them
VECTORS_BYTES = 128 * 2**20
READING = "reading tokens"  # the stage in which nearly all the time goes

Cosines = NDArray[np.float64]


def pair_cosines(encoder: Encoder, pairs: GradedPairs, ids: list[list[int]]) -> Work[tuple[Cosines, Cosines | None]]:
    """Cosines (row, pooling, pair) and, where the model declares a reading of its own, those (pair).

    `ids` are the tokens of `pairs.sentences`.
    """
    first, second, ids = _places(pairs, ids)
    lengths = [len(numbers) for numbers in ids]
    most = max(2, VECTORS_BYTES // (len(encoder.rows) * len(GRID_POOLINGS) * encoder.width * 4))

    grid = np.empty((len(encoder.rows), len(GRID_POOLINGS), len(pairs)))
    own = np.empty(len(pairs)) if encoder.head else None
    done, total = 0, sum(lengths)
    for chunk in chunks(first, second, lengths, most):
        of_chunk = [ids[place] for place in chunk.sentences]
        # a function of its own: a chunk's vectors are gone before those of the next are made
        grid[:, :, chunk.pairs], of_own = yield from _chunk_cosines(
            encoder, chunk, of_chunk, Progress(READING, done, total)
        )
        if own is not None:
            own[chunk.pairs] = of_own
        done += sum(map(len, of_chunk))
    return grid, own


def _places(pairs: GradedPairs, ids: list[list[int]]) -> tuple[Places, Places, list[list[int]]]:
    """The two sentences of every pair, as places in a list of tokens without repetitions, and that list.

    Sentences of the same tokens are encoded once: in two batches their vectors would differ in the last digits, and
    their cosines would not tie.
    """
    heads: dict[tuple[int, ...], int] = {}
    numbers = [heads.setdefault(tuple(tokens), len(heads)) for tokens in ids]
    place = dict(zip(pairs.sentences, numbers, strict=True))
    first, second = (np.array([place[text] for text in side], dtype=np.intp) for side in (pairs.first, pairs.second))
    return first, second, [list(tokens) for tokens in heads]


def _chunk_cosines(
    encoder: Encoder, chunk: Chunk, ids: list[list[int]], so_far: Progress
) -> Work[tuple[Cosines, Cosines | None]]:
    """The cosines of a chunk's pairs; `ids` are the tokens of its sentences."""
    vectors = _Vectors(encoder, len(ids))
    done = so_far.done
    for views in encoder.views_of(ids):
        vectors.take(views)
        done += sum(len(ids[place]) for place in views.positions)
        del views  # else they would be alive while the next are made
        # a family of pairs that is cut in two is read twice, and the end is still the end
        yield replace(so_far, done=min(done, so_far.total))
    # cell by cell: what is gathered for the pairs is small that way
    grid = np.stack([[exact_cosines(cell, chunk.first, chunk.second) for cell in row] for row in vectors.grid])
    return grid, None if vectors.own is None else exact_cosines(vectors.own, chunk.first, chunk.second)


class _Vectors:
    """The vectors of a chunk's sentences: `grid` (row, pooling, sentence, width), `own` (sentence, width)."""

    def __init__(self, encoder: Encoder, sentences: int) -> None:
        import torch

        shape = (len(encoder.rows), len(GRID_POOLINGS), sentences, encoder.width)
        self.grid = torch.empty(shape, device=encoder.device)
        self.own: Tensor | None = None

    def take(self, views: Views) -> None:
        """Put a batch in its place."""
        for place, row in enumerate(views.grid):  # row by row: no second copy of the whole batch
            self.grid[place][:, views.positions] = row
        if views.own is not None:
            if self.own is None:
                self.own = views.own.new_empty(self.grid.shape[2], views.own.shape[-1])
            self.own[views.positions] = views.own


def exact_cosines(vectors: Tensor, first: Places, second: Places) -> Cosines:
    """Cosines (pair) of vectors (sentence, width), of which `first` and `second` are places; 0 for one without length.

    Taken as 1 - d²/2, with d the distance of the two vectors brought to length 1: equal vectors have exactly 1, so
    that they tie, and small distances keep their digits.
    """
    import torch

    exact = vectors.cpu() if vectors.device.type == "mps" else vectors  # Apple's GPUs have no float64
    exact = exact.to(torch.float64)
    lengths = torch.linalg.vector_norm(exact, dim=-1)
    empty = lengths == 0
    unit = exact / torch.where(empty, 1.0, lengths)[:, None]
    of_first, of_second = (torch.as_tensor(side, device=exact.device) for side in (first, second))
    # summed by torch itself: a product of matrices may add equal rows in another order
    squared = (unit[of_first] - unit[of_second]).square_().sum(-1)
    cosines: Cosines = torch.where(empty[of_first] | empty[of_second], 0.0, 1 - squared / 2).cpu().numpy()
    return cosines
