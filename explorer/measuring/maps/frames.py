"""Nearest neighbours in each frame of a map that moves, and what changed since the first frame.

A frame is a model (A, then B), a layer of one, or a step of a run; every frame is of the same sentences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from explorer.encoding.read.pooling import Reading
from explorer.measuring.maps.projection import (
    LEAST,
    Kind,
    MapSettings,
    Travel,
    principal,
    travel_by_umap,
    turned_onto,
)
from explorer.measuring.maps.trustworthiness import Faithfulness, faithfulness
from explorer.measuring.neighbours.vector_index import COMPARED, Neighbourhoods, neighbourhoods, overlap_of
from explorer.measuring.scores.correlation import unit
from explorer.measuring.sentences.sentence_vectors import every_layer, gathered
from explorer.progress import Progress, Work

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder

Vectors = NDArray[np.float32]
MOST_MOVED = 10  # sentences
_ROWS = 512  # sentences whose neighbours' vectors are in memory at once


def compared(count: int) -> int:
    """How many nearest neighbours are compared of so many sentences: 10, or of few fewer than half of the others."""
    return min(COMPARED, max(1, (count - 1) // 2)) if count > 1 else 0


@dataclass(frozen=True, eq=False)
class Frames:
    """The nearest neighbours of sentences in each frame, and how far each sentence moved since the first one."""

    near: NDArray[np.int32]  # (frame, sentence, neighbour), nearest first
    cosines: Vectors  # (frame, sentence, neighbour): in that frame
    before: Vectors  # of the same neighbours in the first frame
    after: Vectors  # of the neighbours in the first frame, in that frame
    moved: Vectors | None  # (frame, sentence): 1 - cosine of a sentence's vectors in the first and in that frame

    def __len__(self) -> int:
        return len(self.near)

    @property
    def nearest(self) -> int:
        """The neighbours that are compared."""
        return int(self.near.shape[2])

    def kept(self, frame: int = -1) -> NDArray[np.intp]:
        """How many of the neighbours in the first frame each sentence has in this one."""
        return overlap_of(self.near[0], self.near[frame]).kept

    def keep_most(self, frame: int = -1) -> int:
        """How many sentences keep more than half of their neighbours."""
        return int((2 * self.kept(frame) > self.nearest).sum())

    def most_moved(self, frame: int = -1, most: int = MOST_MOVED) -> list[int]:
        """The sentences that moved most, those that kept the fewest neighbours if no shift is defined."""
        order = self.kept(frame) if self.moved is None else -self.moved[frame]
        return [int(at) for at in np.argsort(order, kind="stable")[:most]]


def frames(vectors: Sequence[Vectors], near: Sequence[Neighbourhoods], *, same_space: bool = True) -> Work[Frames]:
    """Compare vectors (sentence, width) of each frame with those of the first.

    Without the `same_space`, as between two layers, or with other widths, no shift of a sentence is defined.
    """
    count = len(vectors[0])
    nearest = compared(count)
    places = np.stack([one.places[:, :nearest] for one in near]).astype(np.int32)
    own = np.stack([1 - one.distances[:, :nearest] for one in near]).astype(np.float32)
    first = unit(vectors[0]).astype(np.float32)
    before, after = np.empty_like(own), np.empty_like(own)
    defined = same_space and len({one.shape[1] for one in vectors}) == 1
    moved = np.empty((len(vectors), count), dtype=np.float32) if defined else None
    for at, given in enumerate(vectors):
        yield Progress("comparing neighbours", at, len(vectors))
        known = unit(given).astype(np.float32)
        before[at] = _cosines(first, places[at])
        after[at] = _cosines(known, places[0])
        if moved is not None:
            moved[at] = np.maximum(1 - np.vecdot(first.astype(np.float64), known), 0)
    return Frames(places, own, before, after, moved)


def _cosines(known: Vectors, places: NDArray[np.int32]) -> Vectors:
    """The cosine (sentence, neighbour) of each sentence with these others, of unit vectors."""
    found = np.empty(places.shape, dtype=np.float32)
    for start in range(0, len(places), _ROWS):
        some = slice(start, start + _ROWS)
        found[some] = np.clip(np.vecdot(known[places[some]], known[some, None]), -1, 1)
    return found


@dataclass(frozen=True, eq=False)
class LayerFrames:
    """The map of every layer of a model under one pooling, aligned, with what changes from the first layer on."""

    places: NDArray[np.float32]  # (layer, sentence, 2)
    frames: Frames
    faithfulness: tuple[Faithfulness, ...]
    kind: Kind
    pooling: str


def layer_frames(
    encoder: Encoder, sentences: Sequence[str], pooling: str, settings: MapSettings, max_length: int | None
) -> Work[LayerFrames]:
    """Encode once, and map every layer: each by itself, aligned with those before and after it."""
    readings: list[Reading] = every_layer(encoder, pooling)
    vectors = yield from gathered(encoder, sentences, readings, max_length)
    near = []
    for layer, of_layer in enumerate(vectors):
        near.append((yield from neighbourhoods(of_layer, f"finding neighbours in layer {layer}")))
    yield Progress("principal components", 0, 0)
    plane = aligned_plane(vectors)
    kind: Kind = "UMAP" if settings.kind == "UMAP" and len(sentences) >= LEAST else "PCA"
    places = plane.places
    if kind == "UMAP":
        places = yield from travel_by_umap(tuple(near), plane, settings)
    judged = []
    for layer, of_layer in enumerate(vectors):
        stage = f"trustworthiness of the map of layer {layer}"
        judged.append((yield from faithfulness(of_layer, near[layer], places[layer], stage)))
    found = yield from frames(vectors, near, same_space=False)
    return LayerFrames(places.astype(np.float32), found, tuple(judged), kind, pooling)


def aligned_plane(vectors: Sequence[NDArray[Any]]) -> Travel:
    """The principal components of each frame by itself, rotated and scaled onto those of the frame before."""
    places = [principal(one, None, 2)[0] for one in vectors]
    for at in range(1, len(places)):
        places[at] = turned_onto(places[at - 1], places[at])
    return Travel(np.stack(places).astype(np.float64), np.zeros((len(places), len(places[0]))), float("nan"))
