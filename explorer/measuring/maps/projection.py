"""Project the vectors of A and B to two aligned maps: PCA, UMAP or t-SNE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from explorer.errors import BadChoice
from explorer.measuring.maps.faithfulness import Faithfulness, faithfulness
from explorer.measuring.maps.pca import principal, turned_onto
from explorer.measuring.maps.tsne_layout import tsne_layout
from explorer.measuring.maps.umap_layout import umap_layout
from explorer.measuring.neighbours.nearest import Neighbourhoods
from explorer.progress import Progress, Work

Kind = Literal["UMAP", "t-SNE", "PCA"]
Places = NDArray[np.float32]
Vectors = NDArray[np.floating]

KINDS: tuple[Kind, ...] = ("UMAP", "t-SNE", "PCA")
LEAST = 10  # sentences; fewer are shown by PCA
NEIGHBOURS, PERPLEXITY, MIN_DIST = (2, 100), (2, 49), (0.0, 0.99)
EXPLAINED = "PCA: {} components explain {}."
ROTATED = "B is rotated onto A, since vectors of {} and {} dimensions share no components."
_EPOCHS, _EPOCHS_OF_MANY, _MANY = 300, 200, 10_000
_EXAGGERATED, _STEPS, _STEPS_OF_B = 250, 500, 300


@dataclass(frozen=True)
class Way:
    """The settings of a projection."""

    kind: Kind = "UMAP"
    axes: int = 2
    neighbours: int = 15  # UMAP's default, as is the next
    min_dist: float = 0.1
    perplexity: int = 30  # scikit-learn's default
    seed: int = 0

    def __post_init__(self) -> None:
        _check("kind", self.kind, self.kind in KINDS, f"one of {', '.join(KINDS)}")
        _check("axes", self.axes, self.axes in (2, 3), "2 or 3")
        for name, (low, high) in (("neighbours", NEIGHBOURS), ("min_dist", MIN_DIST), ("perplexity", PERPLEXITY)):
            value = getattr(self, name)
            _check(name, value, low <= value <= high, f"from {low} to {high}")
        _check("seed", self.seed, 0 <= self.seed < 2**31, "from 0 to 2147483647")


@dataclass(frozen=True, eq=False)
class Map:
    """Positions (sentence, axis) of one encoder, with their trustworthiness."""

    places: Places
    faithfulness: Faithfulness


@dataclass(frozen=True, eq=False)
class Maps:
    """One or two maps of the same sentences, and notes on them."""

    one: Map
    other: Map | None
    kind: Kind
    told: tuple[str, ...]


def maps(one: Vectors, other: Vectors | None, near: tuple[Neighbourhoods, ...], way: Way) -> Work[Maps]:
    """Compute aligned maps of vectors (sentence, width) of A and of B; `near` holds the neighbours of each."""
    count = len(one)
    if count < 2:
        raise BadChoice(f"A map needs at least 2 sentences; there are {count}. Add some.")
    yield Progress("principal components", 0, 0)
    first, second, shares = principal(one, other, way.axes)
    sides = [side for side in (first, second) if side is not None]
    kind: Kind = way.kind if count >= LEAST else "PCA"
    if kind == "UMAP":
        places, told = yield from _umap(sides, near, way)
    elif kind == "t-SNE":
        places, told = yield from _tsne(sides, near, way)
    else:
        places, told = sides, _told_of_principal(one, other, shares, way)
        if way.kind != kind:
            told = f"{count} sentences are too few for {way.kind}, which needs {LEAST}: this is PCA. {told}"
    judged = []
    given = [one] if other is None else [one, other]
    for name, vectors, neighbours, found in zip("AB", given, near, places, strict=False):
        faith = yield from faithfulness(vectors, neighbours, found, f"trustworthiness of the map of {name}")
        judged.append(Map(found, faith))
    return Maps(judged[0], judged[1] if len(judged) > 1 else None, kind, (told,))


def _umap(sides: list[Places], near: tuple[Neighbourhoods, ...], way: Way) -> Work[tuple[list[Places], str]]:
    """Lay out both together; every sentence of A is a neighbour of the same sentence of B."""
    count = len(sides[0])
    if len(sides) == 2:
        sides = [sides[0], turned_onto(sides[0], sides[1])]
    start = np.concatenate([spread(side, 10, way.seed) for side in sides])
    epochs = rounds(len(start))
    found = yield from umap_layout(near, start, way.neighbours, way.min_dist, way.seed, epochs, "UMAP")
    neighbours = min(way.neighbours, count)
    told = f"UMAP: {neighbours} neighbours by cosine, min_dist {way.min_dist:g}, {epochs} epochs, seed {way.seed}."
    if len(sides) == 2:
        told += " A and B are laid out together: every sentence in A is a neighbour of itself in B."
    return [found[at : at + count] for at in range(0, len(found), count)], told


def _tsne(sides: list[Places], near: tuple[Neighbourhoods, ...], way: Way) -> Work[tuple[list[Places], str]]:
    """t-SNE of A starts from its principal components, that of B from A's map."""
    perplexity = min(float(way.perplexity), (len(sides[0]) - 1) / 3)
    start = spread(sides[0], 1e-4, way.seed)
    found = [(yield from tsne_layout(near[0], start, perplexity, _EXAGGERATED, _STEPS, "t-SNE of A"))]
    told = f"t-SNE: perplexity {perplexity:.3g}, {_EXAGGERATED + _STEPS} steps, seed {way.seed}."
    if perplexity < way.perplexity:
        told += " (A larger perplexity would need more sentences.)"
    if len(sides) == 2:
        moved = yield from tsne_layout(near[1], found[0], perplexity, 0, _STEPS_OF_B, "t-SNE of B")
        found.append(turned_onto(found[0], moved))
        told += f" B starts from A's map, with {_STEPS_OF_B} steps, and is rotated onto A."
    return found, told


def rounds(points: int) -> int:
    """The number of UMAP epochs."""
    return _EPOCHS if points <= _MANY else _EPOCHS_OF_MANY


def spread(places: Places, size: float, seed: int) -> Places:
    """Scale positions and add a little noise, without which equal points could never separate."""
    noise = np.random.default_rng(seed).normal(scale=size * 1e-2, size=places.shape)
    largest = float(np.abs(places).max())
    return np.asarray(places * (size / largest if largest > 1e-12 else 0) + noise, dtype=np.float32)


def _told_of_principal(one: Vectors, other: Vectors | None, shares: tuple[float, ...], way: Way) -> str:
    held = " and ".join(
        f"{share:.0%} of the variance of {name}"
        for name, share in zip("AB", shares, strict=False)
        if np.isfinite(share)
    )
    told = EXPLAINED.format(way.axes, held) if held else "PCA: all vectors are equal."
    if other is not None:
        widths = one.shape[1], other.shape[1]
        told += " A and B use the same components." if widths[0] == widths[1] else f" {ROTATED.format(*widths)}"
    return told


def _check(name: str, value: object, holds: bool, allowed: str) -> None:
    if not holds:
        raise BadChoice(f"{name} {value!r} is not possible for a map. Choose {allowed}.")
