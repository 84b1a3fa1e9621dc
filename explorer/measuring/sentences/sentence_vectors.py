"""Vectors of sentences under one layer & pooling, or under one pooling of every layer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explorer.encoding.read.readings import OWN, Reading, Row, cell_of
from explorer.errors import BadChoice
from explorer.progress import Progress, Work

if TYPE_CHECKING:
    from torch import Tensor

    from explorer.encoding.read.encoder import Encoder, Views

Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class Pick:
    """What is wanted of a batch, (…, sentence, width), and the layers & poolings that have to be computed for it."""

    of: Callable[[Views], Tensor]
    needs: tuple[Reading, ...] = ()


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
    for views in encoder.views(sentences, max_length, [needed for wanted in picks for needed in wanted.needs]):
        parts = [wanted.of(views) for wanted in picks]
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
        return Pick(_own)
    cell = cell_of(reading, encoder.rows, encoder.poolings)
    return Pick(lambda views: views.also[reading], (reading,)) if cell is None else Pick(lambda views: views.grid[cell])


def every_layer(encoder: Encoder, pooling: str) -> Pick:
    """Of a batch, the vectors of every layer under a pooling: (layer, sentence, width)."""
    layers = encoder.rows[-1].layers[-1] + 1
    if pooling in encoder.poolings:
        column = encoder.poolings.index(pooling)
        return Pick(lambda views: views.grid[:layers, column])
    import torch

    each = tuple(Reading(Row((layer,)), pooling) for layer in range(layers))
    return Pick(lambda views: torch.stack([views.also[one] for one in each]), each)


def _own(views: Views) -> Tensor:
    assert views.own is not None, "the encoder declares a model default"
    return views.own
