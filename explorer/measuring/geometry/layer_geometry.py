"""Embedding geometry and drift of every layer of one or two encoders, with what it means and table rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explorer.data.text_sets import GradedPairs
from explorer.encoding.read.pooling import POOLINGS, Reading
from explorer.errors import BadChoice
from explorer.in_words import Rows, rounded
from explorer.knobs import Knobs, knob
from explorer.measuring.geometry.vector_geometry import NEIGHBOURS, Geometry, alignment, alike, geometry, shift
from explorer.measuring.scores.bootstrap import Interval
from explorer.measuring.scores.measure import Load, Settings, load_encoder
from explorer.measuring.sentences.sentence_vectors import every_layer, gathered, of_reading
from explorer.progress import Progress, Work

if TYPE_CHECKING:
    from explorer.encoding.locate.model_names import Found


Vectors = NDArray[np.float32]

# the cost grows with the square of the sentences: this many take a quarter of a second per layer
MOST = 3000
SEED = 0
# common scales of gold scores; the first that contains every score is assumed
SCALES = (1.0, 5.0, 10.0, 100.0)
SIMILAR = 0.8  # of the scale: a pair with such a gold score counts as similar, as alignment is defined


@dataclass(frozen=True)
class GeometryOptions(Knobs):
    """Whether the geometry is computed, and of which pooling."""

    geometry: bool = knob(False, help="Also the embedding geometry of every layer, and drift.")
    pooling: str = knob("mean", help="Pooling of geometry and line plots: a column of the grid.")


@dataclass(frozen=True)
class LayerGeometry:
    """Encoders on the same sentences; `alike` (CKA) and `shift` by layer, empty unless two have the same depth."""

    pooling: str
    layers: tuple[tuple[Geometry, ...], ...]  # of every layer under the pooling, by side
    readings: tuple[Reading, ...]  # the chosen layer & pooling of each side, and its geometry
    chosen: tuple[Geometry, ...]
    alike: tuple[float, ...]
    shift: tuple[float, ...]
    sentences: int
    pairs: int  # pairs whose sentences are used
    of_pairs: int  # pairs of the set
    close: int  # pairs graded `close_from` or more
    close_from: float
    seed: int

    def geometry_of(self, side: int, reading: Reading) -> Geometry | None:
        """The geometry of a layer & pooling of one side, if it was measured."""
        layer = layer_of(reading, self.pooling)
        if layer is not None:
            return self.layers[side][layer]
        return self.chosen[side] if self.readings[side] == reading else None

    @property
    def same_width(self) -> bool:
        """Whether A and B have vectors of the same width."""
        return any(np.isfinite(self.shift))


def layer_geometry(
    found: Sequence[Found],
    pairs: GradedPairs,
    pooling: str,
    readings: Sequence[Reading],
    settings: Settings,
    load: Load = load_encoder,
    seed: int = SEED,
) -> Work[LayerGeometry]:
    """Encode the sentences of scored pairs with one or two encoders, once each, and keep only the measures."""
    check_pooling(pooling)
    drawn = _Drawn(pairs, seed)
    kept: list[list[Vectors]] = []
    measured: list[tuple[Geometry, ...]] = []
    of_chosen: list[Geometry] = []
    for one, reading, name in zip(found, readings, "AB", strict=False):
        yield Progress(f"loading {one.name}", 0, 0)
        encoder = load(one, settings)
        *layers, chosen = yield from gathered(
            encoder,
            drawn.sentences,
            [*every_layer(encoder, pooling), reading],
            settings.max_length,
            f"encoding sentences with {encoder.name}",
        )
        of_layers: list[Geometry] = []
        for place, vectors in enumerate(layers):
            yield Progress(f"measuring the layers of {name}", place, len(layers))
            of_layers.append(drawn.geometry(vectors))
        layer = layer_of(reading, pooling)
        measured.append(tuple(of_layers))
        of_chosen.append(drawn.geometry(chosen) if layer is None else of_layers[layer])
        kept.append(layers)
    drift: list[tuple[float, float]] = []  # CKA and shift of every layer
    if len(kept) == 2 and len(kept[0]) == len(kept[1]):
        for place, (first, second) in enumerate(zip(*kept, strict=True)):
            yield Progress("comparing the layers", place, len(kept[0]))
            drift.append((alike(first, second), shift(first, second)))
    return LayerGeometry(
        pooling=pooling,
        layers=tuple(measured),
        readings=tuple(readings[: len(found)]),
        chosen=tuple(of_chosen),
        alike=tuple(of_layer for of_layer, _ in drift),
        shift=tuple(of_layer for _, of_layer in drift),
        sentences=len(drawn.sentences),
        pairs=drawn.pairs,
        of_pairs=len(pairs),
        close=len(drawn.first),
        close_from=close_from(pairs.gold),
        seed=seed,
    )


def reading_geometry(
    found: Found, pairs: GradedPairs, reading: Reading, settings: Settings, load: Load = load_encoder, seed: int = SEED
) -> Work[Geometry]:
    """Measure one more layer & pooling of an encoder, on the same sentences."""
    drawn = _Drawn(pairs, seed)
    yield Progress(f"loading {found.name}", 0, 0)
    vectors = yield from of_reading(load(found, settings), drawn.sentences, reading, settings.max_length)
    return drawn.geometry(vectors)


def layer_of(reading: Reading, pooling: str) -> int | None:
    """The layer of a layer & pooling, if it is a single layer under this pooling."""
    layers = reading.row.layers
    return layers[0] if len(layers) == 1 and reading.pooling == pooling else None


def check_pooling(pooling: str, allowed: Iterable[str] = POOLINGS) -> None:
    """Refuse a pooling that is not among those allowed."""
    if pooling not in allowed:
        raise BadChoice(f"There is no pooling '{pooling}' here. Choose one of {', '.join(allowed)}.")


class _Drawn:
    """The distinct sentences of all pairs, or of a random sample of them that stays within the limit of sentences."""

    def __init__(self, pairs: GradedPairs, seed: int) -> None:
        order = range(len(pairs))
        if len(pairs.sentences) > MOST:
            order = np.random.default_rng(seed).permutation(len(pairs)).tolist()
        place: dict[str, int] = {}
        inside: list[int] = []
        for pair in order:
            texts = pairs.first[pair], pairs.second[pair]
            if len(place) + len({*texts} - place.keys()) > MOST:
                break
            inside.append(pair)
            for text in texts:
                place.setdefault(text, len(place))
        self.sentences, self.pairs = tuple(place), len(inside)
        close = [pair for pair in inside if pairs.gold[pair] >= close_from(pairs.gold)]
        # the positions of the positive pairs
        self.first, self.second = (
            np.array([place[side[pair]] for pair in close], dtype=np.intp) for side in (pairs.first, pairs.second)
        )

    def geometry(self, vectors: Vectors) -> Geometry:
        """Measure the vectors of these sentences under one layer & pooling."""
        return replace(geometry(vectors), alignment=alignment(vectors[self.first], vectors[self.second]))


def scale(gold: Sequence[float]) -> tuple[float, float]:
    """The ends of the scale of gold scores, such as 0 to 5; it starts below 0 if a score does."""
    widest = max(max(gold), -min(gold))
    end = next((end for end in SCALES if widest <= end), widest)
    return (-end if min(gold) < 0 else 0.0), end


def close_from(gold: Sequence[float]) -> float:
    """The lowest gold score of a similar pair: 4 on a scale to 5 (Wang and Isola 2020; Gao, Yao and Chen 2021)."""
    low, high = scale(gold)
    return round(low + SIMILAR * (high - low), 9)  # exactly 0.6 on -1 to 1


OTHER_DEPTH = "A has {} layers and B {}: their layers do not correspond."


@dataclass(frozen=True)
class Measure:
    """A measure: its name, its meaning, and how to get it."""

    name: str
    meaning: str
    of: Callable[[Geometry], float]


MEASURES = (
    Measure(
        "mean cosine of two sentences",
        "Similarity of random pairs (anisotropy), from −1 to 1. Near 0 is good; near 1, all vectors are in a narrow "
        "cone.",
        lambda found: found.random_pairs,
    ),
    Measure(
        "share of the widest direction",
        "Share of the variance in the first principal component, from 0 to 1. Lower is better; near 1, vectors differ "
        "along one line only.",
        lambda found: found.first_direction,
    ),
    Measure(
        "share of the widest three",
        "Share of the variance in the first three principal components, from 0 to 1. Lower is better.",
        lambda found: found.first_three,
    ),
    Measure("uniformity", "How evenly vectors are spread, at most 0. Lower is better.", lambda found: found.uniformity),
    Measure(
        "alignment",
        "Mean squared distance of positive pairs, from 0 to 4. Lower is better.",
        lambda found: found.alignment,
    ),
    Measure(
        "hubness",
        f"Skewness of how often a sentence is among another's nearest {NEIGHBOURS}. Near 0 is good; above 1, a few "
        "sentences (hubs) are neighbours of many.",
        lambda found: found.hubness,
    ),
)

HOW_TO_READ = (
    "CKA is from 0 to 1: 1 if a layer of B is a rotation, translation and scaling of A's, lower as neighbours change. "
    "The shift is 1 minus the mean cosine of a sentence's vectors in A and B, 0 if nothing changed; it is meaningful "
    "only if B was tuned from A. Neither says whether a change is better or worse: see B − A."
)


def definition(found: LayerGeometry) -> str:
    """Define the measures, and name the sentences they were measured on."""
    sample = f"{found.sentences:,} distinct sentences of {found.pairs:,} pairs"
    if found.pairs < found.of_pairs:
        sample += f", drawn from {found.of_pairs:,} (seed {found.seed})"
    count = found.sentences
    return (
        f"{sample}. Vectors are normalised to length 1. Alignment: mean squared distance of the {found.close:,} pairs "
        f"graded {found.close_from:g} or more. Uniformity: log of the mean of exp(−2 d²) over all "
        f"{count * (count - 1) // 2:,} pairs of sentences."
    )


def not_comparable(found: LayerGeometry) -> str:
    """The reason why two sides cannot be compared; "" if they can."""
    if len(found.layers) < 2:
        return ""
    if not found.alike:
        return OTHER_DEPTH.format(*(len(side) - 1 for side in found.layers))
    if not found.same_width:
        return (
            "The vectors of A and B have different dimensions, so there is no cosine and no shift. CKA is still "
            "defined."
        )
    return ""


def geometry_rows(found: LayerGeometry) -> Rows:
    """A row for every layer of every side, and one for the chosen layer & pooling of each."""
    return [
        {
            "encoder": name,
            "layer & pooling": title,
            **{measure.name: rounded(measure.of(of_layer), 5) for measure in MEASURES},
        }
        for name, layers, reading, chosen in zip("AB", found.layers, found.readings, found.chosen, strict=False)
        for title, of_layer in (
            *((f"{found.pooling} of layer {layer}", each) for layer, each in enumerate(layers)),
            (f"chosen: {reading.title}", chosen),
        )
    ]


def drift_rows(found: LayerGeometry, differences: Interval | None) -> Rows:
    """A row for every common layer; `differences` (layer) are those of the scores."""
    rows: Rows = []
    for layer, (cka, moved) in enumerate(zip(found.alike, found.shift, strict=True)):
        rows.append(
            {"layer & pooling": f"{found.pooling} of layer {layer}", "CKA": rounded(cka, 5), "shift": rounded(moved, 5)}
        )
        if differences is not None:
            of_scores = {"difference": differences.difference, "low": differences.low, "high": differences.high}
            rows[-1] |= {name: rounded(values[layer], 4) for name, values in of_scores.items()}
    return rows
