"""Vectors of sentences under one layer & pooling, or under one pooling of every layer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explorer.encoding.read.readings import GRID_POOLINGS, OWN, Reading
from explorer.errors import BadChoice
from explorer.progress import Progress, Work

if TYPE_CHECKING:
    from torch import Tensor

    from explorer.encoding.read.encoder import Encoder, Views

Vectors = NDArray[np.float32]


Pick = Callable[["Views"], "Tensor"]  # what is wanted of a batch: (…, sentence, width)


def of_reading(
    encoder: Encoder, sentences: Sequence[str], reading: Reading, max_length: int | None = None
) -> Work[Vectors]:
    """Vectors (sentence, width) of one layer & pooling."""
    (found,) = yield from gathered(encoder, sentences, [pick(encoder, reading)], max_length)
    return found


def gathered(
    encoder: Encoder,
    sentences: Sequence[str],
    picks: Sequence[Pick],
    max_length: int | None = None,
    stage: str = "encoding sentences",
) -> Work[tuple[Vectors, ...]]:
    """What each pick wants, of all sentences in their order, from one pass over their batches."""
    found: list[Vectors] = []
    done = 0
    for views in encoder.views(sentences, max_length):
        parts = [wanted(views) for wanted in picks]
        if not found:  # the width is known only now: a model default can have another one
            shapes = [(*part.shape[:-2], len(sentences), part.shape[-1]) for part in parts]
            found = [np.empty(shape, dtype=np.float32) for shape in shapes]
        for all_of_it, part in zip(found, parts, strict=True):
            all_of_it[..., views.positions, :] = part.float().cpu().numpy()
        done += len(views.positions)
        yield Progress(stage, done, len(sentences))
    return tuple(found) or tuple(np.empty((0, encoder.width), dtype=np.float32) for _ in picks)


def pick(encoder: Encoder, reading: Reading) -> Pick:
    """Of a batch, the vectors under one layer & pooling."""
    if reading == OWN:
        if encoder.head is None:
            raise BadChoice(f"'{encoder.name}' declares no model default. Choose a layer & pooling.")
        return _own
    row, column = encoder.rows.index(reading.row), GRID_POOLINGS.index(reading.pooling)
    return lambda views: views.grid[row, column]


def every_layer(encoder: Encoder, pooling: str) -> Pick:
    """Of a batch, the vectors of every layer under a pooling: (layer, sentence, width)."""
    column, layers = GRID_POOLINGS.index(pooling), encoder.rows[-1].layers[-1] + 1
    return lambda views: views.grid[:layers, column]


def _own(views: Views) -> Tensor:
    assert views.own is not None, "the encoder declares a model default"
    return views.own
