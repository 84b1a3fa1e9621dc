"""Maps of sentences at every evaluation of a run, on one plane or by UMAP."""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.measuring.maps import projection
from explorer.measuring.maps.projection import Faithfulness, MapSettings, faithfulness, turned_onto
from explorer.measuring.maps.umap_layout import umap_layouts
from explorer.measuring.neighbours.vector_index import neighbourhoods
from explorer.progress import Work

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Travel:
    """The position of each sentence at each step, and its shift since the first."""

    places: Floats  # (step, sentence, 2)
    turned: Floats  # (step, sentence): 1 - cosine of the vectors at this and at the first step
    shown: float  # share of the variance of all vectors of all steps that the plane explains


def travel(probes: NDArray[Any]) -> Travel:
    """Compute the map of vectors (step, sentence, width), normalised.

    The plane is spanned by the first two principal components of all steps together, so a sentence that does not change
    does not move on the map.
    """
    vectors = probes.astype(np.float64)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)
    steps, sentences, width = vectors.shape
    centred = (vectors - vectors.mean(axis=(0, 1))).reshape(-1, width)
    variances, directions = np.linalg.eigh(centred.T @ centred)
    plane = directions[:, ::-1][:, :2]
    # the sign makes the largest entry positive, the same on every machine
    plane = plane * np.sign(plane[np.abs(plane).argmax(axis=0), np.arange(plane.shape[1])])
    places = np.zeros((len(centred), 2))
    places[:, : plane.shape[1]] = centred @ plane
    total = variances.sum()
    return Travel(
        places.reshape(steps, sentences, 2),
        1 - (vectors * vectors[0]).sum(-1),
        float(variances[::-1][:2].sum() / total) if total > 1e-12 * len(centred) else float("nan"),
    )


def travel_by_umap(probes: NDArray[Any], plane: Travel, settings: MapSettings) -> Work[Floats]:
    """Lay out all steps together with UMAP, from their positions (step, sentence, 2) on the plane.

    Each step is laid out by itself, pulled towards those before and after, and rotated onto the one before, since the
    position and rotation of a UMAP have no meaning.
    """
    near = []
    for place, vectors in enumerate(probes):
        stage = f"finding neighbours at evaluation {place + 1} of {len(probes)}"
        near.append((yield from neighbourhoods(vectors.astype(np.float32), stage)))
    # the same noise at every step, so that unchanged sentences start at the same position
    size = 10 / max(1e-12, float(np.abs(plane.places).max()))
    noise = projection.spread(np.zeros(plane.places.shape[1:], dtype=np.float32), 10, settings.seed)
    start = (plane.places * size + noise).astype(np.float32)
    rounds = projection.rounds(start.shape[1])
    found = yield from umap_layouts(
        tuple(near), start, settings.neighbours, settings.min_dist, settings.seed, rounds, "laying out"
    )
    for before, now in itertools.pairwise(found):
        now[:] = turned_onto(before, now, same_size=False)
    return found.astype(np.float64)


def believed(probe: NDArray[Any], places: Floats) -> Work[Faithfulness]:
    """The trustworthiness of the map (sentence, 2) of one step."""
    vectors = probe.astype(np.float32)
    near = yield from neighbourhoods(vectors)
    return (yield from faithfulness(vectors, near, places, "trustworthiness of the map"))
