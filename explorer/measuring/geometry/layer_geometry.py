"""Embedding geometry of every layer of one or two encoders, and the drift of each layer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explorer.data.kinds import GradedPairs
from explorer.encoding.read.pooling import POOLINGS
from explorer.encoding.read.readings import Reading
from explorer.errors import BadChoice
from explorer.measuring.geometry.vector_geometry import Geometry, alignment, alike, geometry, shift
from explorer.measuring.scores.measure import Load, Settings, load_encoder
from explorer.measuring.sentences.sentence_vectors import every_layer, gathered, of_reading, pick
from explorer.progress import Progress, Work

if TYPE_CHECKING:
    from explorer.encoding.locate.model_names import Found


Vectors = NDArray[np.float32]
Places = NDArray[np.intp]

# the cost grows with the square of the sentences: this many take a quarter of a second per layer
MOST = 3000
SEED = 0
# common scales of gold scores; the first that contains every score is assumed
SCALES = (1.0, 5.0, 10.0, 100.0)
SIMILAR = 0.8  # of the scale: a pair with such a gold score counts as similar, as alignment is defined


@dataclass(frozen=True)
class Cloud:
    """The geometry of one layer & pooling, and the alignment of positive pairs."""

    geometry: Geometry
    alignment: float


@dataclass(frozen=True)
class Side:
    """One encoder: the geometry of every layer under a pooling, and of its chosen layer & pooling."""

    layers: tuple[Cloud, ...]
    reading: Reading
    chosen: Cloud


@dataclass(frozen=True)
class LayerGeometry:
    """Encoders on the same sentences; `alike` (CKA) and `shift` by layer, empty unless two have the same depth."""

    pooling: str
    sides: tuple[Side, ...]
    alike: tuple[float, ...]
    shift: tuple[float, ...]
    sentences: int
    pairs: int  # pairs whose sentences are used
    of_pairs: int  # pairs of the set
    close: int  # pairs graded `close_from` or more
    close_from: float
    seed: int

    def cloud_of(self, side: int, reading: Reading) -> Cloud | None:
        """The geometry of a layer & pooling of one side, if it was measured."""
        layer = layer_of(reading, self.pooling)
        if layer is not None:
            return self.sides[side].layers[layer]
        return self.sides[side].chosen if self.sides[side].reading == reading else None

    def standing_for(self, chosen: Sequence[tuple[Reading, Cloud]]) -> LayerGeometry:
        """The same with other chosen cells."""
        return replace(
            self,
            sides=tuple(
                replace(side, reading=reading, chosen=cloud)
                for side, (reading, cloud) in zip(self.sides, chosen, strict=True)
            ),
        )

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
    drawn = _drawn(pairs, seed)
    kept, sides = [], []
    for one, reading, name in zip(found, readings, "AB", strict=False):
        yield Progress(f"loading {one.name}", 0, 0)
        encoder = load(one, settings)
        layers, chosen = yield from gathered(
            encoder,
            drawn.sentences,
            [every_layer(encoder, pooling), pick(encoder, reading)],
            settings.max_length,
            f"encoding sentences with {encoder.name}",
        )
        clouds: list[Cloud] = []
        for place, vectors in enumerate(layers):
            yield Progress(f"measuring the layers of {name}", place, len(layers))
            clouds.append(drawn.cloud(vectors))
        layer = layer_of(reading, pooling)
        sides.append(Side(tuple(clouds), reading, drawn.cloud(chosen) if layer is None else clouds[layer]))
        kept.append(layers)
    moved = yield from _moved(kept)
    return LayerGeometry(
        pooling=pooling,
        sides=tuple(sides),
        alike=tuple(of_layer for of_layer, _ in moved),
        shift=tuple(of_layer for _, of_layer in moved),
        sentences=len(drawn.sentences),
        pairs=drawn.pairs,
        of_pairs=len(pairs),
        close=len(drawn.first),
        close_from=close_from(pairs.gold),
        seed=seed,
    )


def reading_cloud(
    found: Found,
    pairs: GradedPairs,
    reading: Reading,
    settings: Settings,
    load: Load = load_encoder,
    seed: int = SEED,
) -> Work[Cloud]:
    """Measure one more layer & pooling of an encoder, on the same sentences."""
    drawn = _drawn(pairs, seed)
    yield Progress(f"loading {found.name}", 0, 0)
    vectors = yield from of_reading(load(found, settings), drawn.sentences, reading, settings.max_length)
    return drawn.cloud(vectors)


def _moved(kept: list[Vectors]) -> Work[list[tuple[float, float]]]:
    """CKA and shift of every layer of vectors (layer, sentence, width); empty for one side, or if the depths differ."""
    moved: list[tuple[float, float]] = []
    if len(kept) == 2 and len(kept[0]) == len(kept[1]):
        for place, (first, second) in enumerate(zip(*kept, strict=True)):
            yield Progress("comparing the layers", place, len(kept[0]))
            moved.append((alike(first, second), shift(first, second)))
    return moved


def layer_of(reading: Reading, pooling: str) -> int | None:
    """The layer of a layer & pooling, if it is a single layer under this pooling."""
    layers = reading.row.layers
    return layers[0] if len(layers) == 1 and reading.pooling == pooling else None


def check_pooling(pooling: str, allowed: Iterable[str] = POOLINGS) -> None:
    """Refuse a pooling that is not among those allowed."""
    if pooling not in allowed:
        raise BadChoice(f"There is no pooling '{pooling}' here. Choose one of {', '.join(allowed)}.")


@dataclass(frozen=True, eq=False)
class _Drawn:
    """Distinct sentences of some pairs; `first` and `second` are the positions of the positive pairs."""

    sentences: tuple[str, ...]
    first: Places
    second: Places
    pairs: int

    def cloud(self, vectors: Vectors) -> Cloud:
        """Measure one layer & pooling of them."""
        return Cloud(geometry(vectors), alignment(vectors[self.first], vectors[self.second]))


def _drawn(pairs: GradedPairs, seed: int) -> _Drawn:
    """All pairs, or a random sample of them that stays within the limit of sentences."""
    order = range(len(pairs))
    if len(pairs.sentences) > MOST:
        order = np.random.default_rng(seed).permutation(len(pairs)).tolist()
    place: dict[str, int] = {}
    inside: list[int] = []
    for pair in order:
        new = {pairs.first[pair], pairs.second[pair]} - place.keys()
        if len(place) + len(new) > MOST:
            break
        inside.append(pair)
        for text in (pairs.first[pair], pairs.second[pair]):
            place.setdefault(text, len(place))
    least = close_from(pairs.gold)
    close = [pair for pair in inside if pairs.gold[pair] >= least]
    first, second = (
        np.array([place[side[pair]] for pair in close], dtype=np.intp) for side in (pairs.first, pairs.second)
    )
    return _Drawn(tuple(place), first, second, len(inside))


def scale(gold: Sequence[float]) -> tuple[float, float]:
    """The ends of the scale of gold scores, such as 0 to 5; it starts below 0 if a score does."""
    widest = max(max(gold), -min(gold))
    end = next((end for end in SCALES if widest <= end), widest)
    return (-end if min(gold) < 0 else 0.0), end


def close_from(gold: Sequence[float]) -> float:
    """The lowest gold score of a similar pair: 4 on a scale to 5 (Wang and Isola 2020; Gao, Yao and Chen 2021)."""
    low, high = scale(gold)
    return round(low + SIMILAR * (high - low), 9)  # exactly 0.6 on -1 to 1
