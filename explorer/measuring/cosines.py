"""How alike are the two sentences of every pair, under every reading of an encoder?

Every sentence is read once, and vectors are dropped as soon as their pairs are measured: what is held at a time
does not grow with the set.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explorer.data.kinds import GradedPairs
from explorer.encoding.readings import GRID_POOLINGS
from explorer.measuring.chunks import Chunk, chunks
from explorer.progress import Progress, Work

if TYPE_CHECKING:
    from torch import Tensor

    from explorer.encoding.encoder import Encoder, Views

# the vectors of a chunk of sentences, under every reading, are alive at once: this bounds them
VECTORS_BYTES = 128 * 2**20
READING = "reading tokens"  # the stage in which nearly all the time goes

Cosines = NDArray[np.float32]


def pair_cosines(encoder: Encoder, pairs: GradedPairs, ids: list[list[int]]) -> Work[tuple[Cosines, Cosines | None]]:
    """Cosines (row, pooling, pair) and, where the model declares a reading of its own, those (pair).

    `ids` are the tokens of `pairs.sentences`.
    """
    position = {text: place for place, text in enumerate(pairs.sentences)}
    first = np.array([position[text] for text in pairs.first])
    second = np.array([position[text] for text in pairs.second])
    lengths = [len(numbers) for numbers in ids]
    most = max(2, VECTORS_BYTES // (len(encoder.rows) * len(GRID_POOLINGS) * encoder.width * 4))

    grid = np.empty((len(encoder.rows), len(GRID_POOLINGS), len(pairs)), dtype=np.float32)
    own = np.empty(len(pairs), dtype=np.float32) if encoder.head else None
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
    # row by row: what is gathered for the pairs is small that way
    grid = np.stack([_pairwise(row, chunk) for row in vectors.grid])
    return grid, None if vectors.own is None else _pairwise(vectors.own, chunk)


class _Vectors:
    """The unit vectors of a chunk's sentences: `grid` (row, pooling, sentence, width), `own` (sentence, width)."""

    def __init__(self, encoder: Encoder, sentences: int) -> None:
        import torch

        shape = (len(encoder.rows), len(GRID_POOLINGS), sentences, encoder.width)
        self.grid = torch.empty(shape, device=encoder.device)
        self.own: Tensor | None = None

    def take(self, views: Views) -> None:
        """Put a batch in its place."""
        for place, row in enumerate(views.grid):  # row by row: no second copy of the whole batch
            self.grid[place][:, views.positions] = _unit(row)
        if views.own is not None:
            if self.own is None:
                self.own = views.own.new_empty(self.grid.shape[2], views.own.shape[-1])
            self.own[views.positions] = _unit(views.own)


def _unit(vectors: Tensor) -> Tensor:
    lengths: Tensor = vectors.norm(dim=-1, keepdim=True)
    return vectors / lengths.clamp_min(1e-8)


def _pairwise(vectors: Tensor, chunk: Chunk) -> Cosines:
    """Cosines (…, pair) of unit vectors (…, sentence, width)."""
    import torch

    cosines: Cosines = torch.linalg.vecdot(vectors[..., chunk.first, :], vectors[..., chunk.second, :]).cpu().numpy()
    return cosines
