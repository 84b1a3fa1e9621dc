"""How did the vectors of some sentences travel while a model was tuned? On one plane for all steps, or by UMAP."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.measuring.maps import projection
from explorer.measuring.maps.faithfulness import Faithfulness, faithfulness
from explorer.measuring.maps.pca import turned_onto
from explorer.measuring.maps.projection import Way
from explorer.measuring.maps.umap_layout import umap_layouts
from explorer.measuring.neighbours.nearest import neighbourhoods
from explorer.progress import Work

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Travel:
    """Where each sentence lies at each step, and how far it has turned since the first."""

    places: Floats  # (step, sentence, 2)
    turned: Floats  # (step, sentence): 1 less the cosine of the vector now and at the first step
    shown: float  # share of the variance of all vectors of all steps that the plane holds


def travel(probes: NDArray[Any]) -> Travel:
    """Of vectors (step, sentence, width), brought to length 1.

    The plane is that of the widest two directions of all steps together (PCA): a sentence that does not move stays
    where it is, which no map that is made for each step anew could promise.
    """
    vectors = probes.astype(np.float64)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)
    steps, sentences, width = vectors.shape
    centred = (vectors - vectors.mean(axis=(0, 1))).reshape(-1, width)
    variances, directions = np.linalg.eigh(centred.T @ centred)
    plane = directions[:, ::-1][:, :2]
    # of a direction and its opposite, the one in which the largest number is positive: the same on every machine
    plane = plane * np.sign(plane[np.abs(plane).argmax(axis=0), np.arange(plane.shape[1])])
    places = np.zeros((len(centred), 2))
    places[:, : plane.shape[1]] = centred @ plane
    total = variances.sum()
    return Travel(
        places.reshape(steps, sentences, 2),
        1 - (vectors * vectors[0]).sum(-1),
        float(variances[::-1][:2].sum() / total) if total > 1e-12 * len(centred) else float("nan"),
    )


def travel_by_umap(probes: NDArray[Any], plane: Travel, way: Way) -> Work[Floats]:
    """Places (step, sentence, 2) of all steps laid out as one, from those on the plane.

    Each look is laid out by itself, drawn towards those before and after, and turned onto the one before: where a map
    lies as a whole, and how it is turned, says nothing.
    """
    near = []
    for place, vectors in enumerate(probes):
        stage = f"looking for neighbours at look {place + 1} of {len(probes)}"
        near.append((yield from neighbourhoods(vectors.astype(np.float32), stage)))
    # the same noise at every look: what does not move begins where it was
    size = 10 / max(1e-12, float(np.abs(plane.places).max()))
    noise = projection.spread(np.zeros(plane.places.shape[1:], dtype=np.float32), 10, way.seed)
    start = (plane.places * size + noise).astype(np.float32)
    rounds = projection.rounds(start.shape[1])
    found = yield from umap_layouts(tuple(near), start, way.neighbours, way.min_dist, way.seed, rounds, "laying out")
    for before, now in itertools.pairwise(found):
        now[:] = turned_onto(before, now, same_size=False)
    return found.astype(np.float64)


def believed(probe: NDArray[Any], places: Floats) -> Work[Faithfulness]:
    """How far the map of one step, places (sentence, 2), is to be believed."""
    vectors = probe.astype(np.float32)
    near = yield from neighbourhoods(vectors)
    return (yield from faithfulness(vectors, near, places, "judging the map"))
