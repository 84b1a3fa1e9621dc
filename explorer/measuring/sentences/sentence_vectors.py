"""Vectors of sentences under one layer & pooling, or under one pooling of every layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explorer.encoding.read.readings import GRID_POOLINGS, OWN, Reading
from explorer.errors import BadChoice
from explorer.progress import Progress, Work

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder

Vectors = NDArray[np.float32]


def of_reading(
    encoder: Encoder, sentences: Sequence[str], reading: Reading, max_length: int | None = None
) -> Work[Vectors]:
    """Vectors (sentence, width) of one layer & pooling."""
    if reading == OWN and encoder.head is None:
        raise BadChoice(f"'{encoder.name}' declares no model default. Choose a layer & pooling.")
    row = None if reading == OWN else encoder.rows.index(reading.row)
    column = None if reading == OWN else GRID_POOLINGS.index(reading.pooling)
    found: Vectors | None = None
    done = 0
    for views in encoder.views(sentences, max_length):
        part = views.own if row is None or column is None else views.grid[row, column]
        if part is None:
            raise BadChoice(f"'{encoder.name}' declares no model default. Choose a layer & pooling.")
        if found is None:
            found = np.empty((len(sentences), part.shape[-1]), dtype=np.float32)
        found[views.positions] = part.float().cpu().numpy()
        done += len(views.positions)
        yield Progress("encoding sentences", done, len(sentences))
    return np.empty((0, encoder.width), dtype=np.float32) if found is None else found


def of_layers(encoder: Encoder, sentences: Sequence[str], pooling: str, max_length: int | None = None) -> Work[Vectors]:
    """Vectors (layer, sentence, width) of every layer under a pooling."""
    column, layers = GRID_POOLINGS.index(pooling), encoder.rows[-1].layers[-1] + 1
    found = np.empty((layers, len(sentences), encoder.width), dtype=np.float32)
    done = 0
    for views in encoder.views(sentences, max_length):
        found[:, views.positions] = views.grid[:layers, column].float().cpu().numpy()
        done += len(views.positions)
        yield Progress("encoding sentences", done, len(sentences))
    return found
