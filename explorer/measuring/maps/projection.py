"""Project the vectors of A and B to two aligned maps, PCA, UMAP or t-SNE.

The evaluations of a run are mapped on one plane, or by a UMAP of each that is pulled towards those before and after.

t-SNE has the gradient of scikit-learn (Barnes-Hut; van der Maaten and Hinton 2008; van der Maaten 2014), step by step:
`TSNE.fit` reports no progress, cannot be stopped, and searches for the neighbours that are known here.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from explorer import in_words
from explorer.errors import BadChoice
from explorer.knobs import Knobs, knob
from explorer.measuring.maps.trustworthiness import Faithfulness, faithfulness
from explorer.measuring.maps.umap_layout import umap_layout, umap_layouts
from explorer.measuring.neighbours.vector_index import Neighbourhoods, neighbourhoods
from explorer.measuring.scores.correlation import unit
from explorer.progress import Progress, Work

Kind = Literal["UMAP", "t-SNE", "PCA"]
Floats = NDArray[np.float64]
Places = NDArray[np.float32]
Vectors = NDArray[np.floating]

KINDS: tuple[Kind, ...] = ("UMAP", "t-SNE", "PCA")
LEAST = 10  # sentences; fewer are shown by PCA
TOO_FEW = f"UMAP and t-SNE need {LEAST} sentences; of fewer PCA is drawn."
KIND_OF = {"neighbours": "UMAP", "min_dist": "UMAP", "perplexity": "t-SNE"}  # the one that a setting is of
EXPLAINED = "PCA: {} components explain {}."
ROTATED = "B is rotated onto A, since vectors of {} and {} dimensions share no components."
_EPOCHS, _EPOCHS_OF_MANY, _MANY = 300, 200, 10_000
_EXAGGERATED, _STEPS, _STEPS_OF_B = 250, 500, 300
_EXAGGERATION = 12.0  # early exaggeration, scikit-learn's default


@dataclass(frozen=True)
class MapSettings(Knobs):
    """The settings of a projection."""

    kind: Kind = knob(
        "UMAP",
        choices=KINDS,
        title="Projection",
        help="UMAP and t-SNE preserve neighbours; their large distances mean little. PCA preserves large distances and "
        f"shows the directions of highest variance. {TOO_FEW}",
    )
    axes: int = knob(2, low=2, high=3, help="Of a map on the page, or of one in space.")
    neighbours: int = knob(  # UMAP's default, as is the next
        15, low=2, high=100, help="UMAP's n_neighbors. Small: local detail. Large: global structure."
    )
    min_dist: float = knob(
        0.1,
        low=0,
        high=0.99,
        title="Minimum distance",
        help="UMAP's min_dist: how close points may be. Small: tight clusters.",
    )
    perplexity: int = knob(  # scikit-learn's default
        30,
        low=2,
        high=49,
        help="t-SNE's perplexity: about how many neighbours count for each sentence. Small: local detail.",
    )
    seed: int = knob(0, low=0, high=2**31 - 1, help="Change the seed to test the map: trust only structure that stays.")


@dataclass(frozen=True, eq=False)
class Maps:
    """The map of A, and of B if there is one, of the same sentences, and notes on them."""

    places: tuple[Places, ...]  # (sentence, axis) of each
    faithfulness: tuple[Faithfulness, ...]
    kind: Kind
    note: str


def maps(one: Vectors, other: Vectors | None, near: tuple[Neighbourhoods, ...], settings: MapSettings) -> Work[Maps]:
    """Compute aligned maps of vectors (sentence, width) of A and of B; `near` holds the neighbours of each."""
    count = len(one)
    if count < 2:
        raise BadChoice(f"A map needs at least 2 sentences; there are {count}. Add some.")
    yield Progress("principal components", 0, 0)
    first, second, shares = principal(one, other, settings.axes)
    sides = [side for side in (first, second) if side is not None]
    kind: Kind = settings.kind if count >= LEAST else "PCA"
    if kind == "UMAP":
        places, note = yield from _umap(sides, near, settings)
    elif kind == "t-SNE":
        places, note = yield from _tsne(sides, near, settings)
    else:
        places = sides
        known = zip("AB", shares, strict=False)
        held = " and ".join(
            f"{in_words.percent(share)} of the variance of {name}" for name, share in known if np.isfinite(share)
        )
        note = EXPLAINED.format(settings.axes, held) if held else "PCA: all vectors are equal."
        if other is not None:
            widths = one.shape[1], other.shape[1]
            note += " A and B use the same components." if widths[0] == widths[1] else f" {ROTATED.format(*widths)}"
        if settings.kind != kind:
            note = f"{count} sentences are too few for {settings.kind}, which needs {LEAST}: this is PCA. {note}"
    judged = []
    given = [one] if other is None else [one, other]
    for name, vectors, neighbours, found in zip("AB", given, near, places, strict=False):
        judged.append((yield from faithfulness(vectors, neighbours, found, f"trustworthiness of the map of {name}")))
    return Maps(tuple(places), tuple(judged), kind, note)


def _umap(
    sides: list[Places], near: tuple[Neighbourhoods, ...], settings: MapSettings
) -> Work[tuple[list[Places], str]]:
    """Lay out both together; every sentence of A is a neighbour of the same sentence of B."""
    count = len(sides[0])
    if len(sides) == 2:
        sides = [sides[0], turned_onto(sides[0], sides[1])]
    start = np.concatenate([spread(side, 10, settings.seed) for side in sides])
    epochs = rounds(len(start))
    found = yield from umap_layout(near, start, settings.neighbours, settings.min_dist, settings.seed, epochs, "UMAP")
    neighbours = min(settings.neighbours, count)
    note = (
        f"UMAP: {neighbours} neighbours by cosine, min_dist {settings.min_dist:g}, {epochs} epochs, "
        f"seed {settings.seed}."
    )
    if len(sides) == 2:
        note += (
            " A and B are laid out together: every sentence in A is a neighbour of itself in B. B is then moved and "
            "rotated onto A."
        )
        return [found[:count], turned_onto(found[:count], found[count:], same_size=False)], note
    return [found], note


def _tsne(
    sides: list[Places], near: tuple[Neighbourhoods, ...], settings: MapSettings
) -> Work[tuple[list[Places], str]]:
    """t-SNE of A starts from its principal components, that of B from A's map."""
    perplexity = min(float(settings.perplexity), (len(sides[0]) - 1) / 3)
    start = spread(sides[0], 1e-4, settings.seed)
    found = [(yield from _tsne_layout(near[0], start, perplexity, _EXAGGERATED, _STEPS, "t-SNE of A"))]
    note = f"t-SNE: perplexity {perplexity:.3g}, {_EXAGGERATED + _STEPS} steps, seed {settings.seed}."
    if perplexity < settings.perplexity:
        note += " (A larger perplexity would need more sentences.)"
    if len(sides) == 2:
        moved = yield from _tsne_layout(near[1], found[0], perplexity, 0, _STEPS_OF_B, "t-SNE of B")
        found.append(turned_onto(found[0], moved))
        note += f" B starts from A's map, with {_STEPS_OF_B} steps, and is rotated onto A."
    return found, note


def rounds(points: int) -> int:
    """The number of UMAP epochs."""
    return _EPOCHS if points <= _MANY else _EPOCHS_OF_MANY


def spread(places: Places, size: float, seed: int) -> Places:
    """Scale positions and add a little noise, without which equal points could never separate."""
    noise = np.random.default_rng(seed).normal(scale=size * 1e-2, size=places.shape)
    largest = float(np.abs(places).max())
    return np.asarray(places * (size / largest if largest > 1e-12 else 0) + noise, dtype=np.float32)


def _tsne_layout(
    near: Neighbourhoods, start: Places, perplexity: float, exaggerated: int, steps: int, stage: str
) -> Work[Places]:
    """Optimise positions (sentence, axis) from a start."""
    yield Progress(stage, 0, exaggerated + steps)
    from scipy.sparse import csr_matrix
    from sklearn.manifold._t_sne import _joint_probabilities_nn, _kl_divergence_bh
    from sklearn.utils._openmp_helpers import _openmp_effective_n_threads

    count, axes = start.shape
    besides = min(near.places.shape[1], int(3 * perplexity + 1))
    starts = np.arange(0, count * besides + 1, besides)
    # squared distances of normalised vectors
    distances, neighbours = 2 * near.distances[:, :besides].ravel(), near.places[:, :besides].ravel()
    graph = csr_matrix((distances, neighbours, starts), shape=(count, count))
    pulls = _joint_probabilities_nn(graph, perplexity, 0)  # (sentence, sentence)
    places = np.ascontiguousarray(start, dtype=np.float32).ravel().copy()
    update, gains = np.zeros_like(places), np.ones_like(places)
    rate = max(count / _EXAGGERATION / 4, 50)  # scikit-learn's "auto"
    threads = _openmp_effective_n_threads()
    for step in range(exaggerated + steps):
        early = step < exaggerated
        if step in (0, exaggerated):  # both phases start without momentum
            update, gains = np.zeros_like(places), np.ones_like(places)
            strength = _EXAGGERATION if early else 1.0
        _, slope = _kl_divergence_bh(places, pulls * strength, 1, count, axes, compute_error=False, num_threads=threads)
        against = update * slope < 0
        gains = np.maximum(np.where(against, gains + 0.2, gains * 0.8), 0.01)
        update = (0.5 if early else 0.8) * update - rate * gains * slope
        places += update.astype(np.float32)
        yield Progress(stage, step + 1, exaggerated + steps)
    return places.reshape(count, axes)


def principal(one: Vectors, other: Vectors | None, axes: int) -> tuple[Places, Places | None, tuple[float, ...]]:
    """Positions (sentence, axis) of A and of B by PCA, and the share of the variance that they explain.

    Vectors are normalised, and each side is centred. If the widths agree, both are projected on the same components, of
    A and B together; else B's map is rotated onto A's.
    """
    known = [unit(side).astype(np.float64) for side in (one, other) if side is not None]
    sides = [side - side.mean(0) for side in known]
    together = len(sides) == 2 and sides[0].shape[1] == sides[1].shape[1]
    shared = _directions(sides, axes) if together else None
    found, shares = [], []
    for side in sides:
        along = _directions([side], axes) if shared is None else shared
        # vectors with fewer dimensions than the map are padded with zeros
        places = np.pad(side @ along, ((0, 0), (0, axes - along.shape[1]))).astype(np.float32)
        whole = float((side**2).sum())
        shares.append(float((places.astype(np.float64) ** 2).sum()) / whole if whole > 0 else float("nan"))
        found.append(places)
    if len(found) < 2:
        return found[0], None, tuple(shares)
    return found[0], found[1] if together else turned_onto(found[0], found[1]), tuple(shares)


def turned_onto(still: Places, turned: Places, same_size: bool = True) -> Places:
    """Align the second map to the first by translation, rotation, reflection and scaling.

    Orthogonal Procrustes, but scaled to the size of the first: the best-fitting size would shrink as the two differ.
    """
    from scipy.linalg import orthogonal_procrustes

    one, other = still - still.mean(0), turned - turned.mean(0)
    sizes = [float(np.linalg.norm(side)) for side in (one, other)]
    if min(sizes) == 0:
        return np.asarray(other + still.mean(0), dtype=np.float32)
    rotation, _ = orthogonal_procrustes(other, one)
    factor = sizes[0] / sizes[1] if same_size else 1.0
    return np.asarray(other @ rotation * factor + still.mean(0), dtype=np.float32)


def _directions(sides: list[Floats], axes: int) -> Floats:
    """Components (width, axis), largest variance first; the sign makes the largest entry positive, on every machine."""
    _, directions = np.linalg.eigh(sum(side.T @ side for side in sides))
    widest = directions[:, ::-1][:, :axes]
    largest = np.take_along_axis(widest, np.abs(widest).argmax(0)[None], axis=0)
    return np.asarray(widest * np.where(largest < 0, -1, 1), dtype=np.float64)


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
    places = np.zeros((len(centred), 2))
    places[:, :width] = centred @ _directions([centred], 2)
    total = float((centred**2).sum())
    return Travel(
        places.reshape(steps, sentences, 2),
        1 - (vectors * vectors[0]).sum(-1),
        float((places**2).sum()) / total if total > 1e-12 * len(centred) else float("nan"),
    )


def travel_by_umap(near: tuple[Neighbourhoods, ...], plane: Travel, settings: MapSettings) -> Work[Floats]:
    """Lay out all steps together with UMAP, from their neighbours and their positions (step, sentence, 2) on the plane.

    Each step is laid out by itself, pulled towards those before and after, and rotated onto the one before, since the
    position and rotation of a UMAP have no meaning.
    """
    # the same noise at every step, so that unchanged sentences start at the same position
    size = 10 / max(1e-12, float(np.abs(plane.places).max()))
    noise = spread(np.zeros(plane.places.shape[1:], dtype=np.float32), 10, settings.seed)
    start = (plane.places * size + noise).astype(np.float32)
    epochs = rounds(start.shape[1])
    found = yield from umap_layouts(
        near, start, settings.neighbours, settings.min_dist, settings.seed, epochs, "laying out"
    )
    for before, now in pairwise(found):
        now[:] = turned_onto(before, now, same_size=False)
    return found.astype(np.float64)


def neighbours_of_each(probes: NDArray[Any]) -> Work[tuple[Neighbourhoods, ...]]:
    """The neighbours of vectors (step, sentence, width) at each step."""
    near = []
    for place, vectors in enumerate(probes):
        stage = f"finding neighbours at evaluation {place + 1} of {len(probes)}"
        near.append((yield from neighbourhoods(vectors.astype(np.float32), stage)))
    return tuple(near)
