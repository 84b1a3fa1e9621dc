"""A point of the size-quality picture: an encoder of one size, what it costs and what it scores."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from explorer import in_words
from explorer.encoding.read.pooling import POOLINGS, title_of
from explorer.encoding.read.readings import MODEL_DEFAULT
from explorer.knobs import Knobs, knob
from explorer.measuring.scores.verdict import Verdict
from explorer.studies.size.compression import FIRST, PCA, STORAGES, WAYS


@dataclass(frozen=True)
class Size:
    """How small an encoder is: layers, pooling, dimensions, and the format of a stored number."""

    layers: int
    pooling: str  # "model default" of the whole encoder, with the maps after it
    dimensions: int
    stored: str

    @property
    def reading(self) -> str:
        """The title of its layer & pooling."""
        return MODEL_DEFAULT if self.pooling == MODEL_DEFAULT else title_of(self.pooling, (self.layers,))

    @property
    def title(self) -> str:
        """`mean of layer 3, 128 dimensions, int8`."""
        return f"{self.reading}, {self.dimensions} dimensions, {self.stored}"


@dataclass(frozen=True)
class SizeOptions(Knobs):
    """The sizes to measure; () stands for all. The model default is a pooling of the last layer."""

    layers: tuple[int, ...] = knob((), item=int, low=0, title="Layers", empty="each", help="Cut after these layers.")
    poolings: tuple[str, ...] = knob(
        (),
        title="Poolings",
        choices=(MODEL_DEFAULT, *POOLINGS),
        empty="those of the grid",
        help="The encoder is cut after every layer, under each of these; the model default is that of all layers.",
    )
    dimensions: tuple[int, ...] = knob(
        (),
        item=int,
        low=1,
        title="Dimensions",
        empty="all, and powers of two down to 32",
        help="Whole numbers with commas between them, such as 384, 128, 64.",
    )
    stored: tuple[str, ...] = knob(
        (),
        title="Stored as",
        choices=tuple(STORAGES),
        empty="all",
        help="float32 takes 4 bytes a dimension, float16 2, int8 1, bits an eighth.",
    )
    cut_by: str = knob(
        PCA,
        title="Fewer dimensions by",
        choices=WAYS,
        titles={PCA: "PCA", FIRST: "the first ones (Matryoshka)"},
        help="PCA keeps the directions in which the sentences of the text differ most. The first dimensions are for "
        "models that were trained to be cut (Matryoshka).",
    )


@dataclass(frozen=True)
class Point:
    """An encoder of one size, judged against the whole model as people use it, and what it costs."""

    model: str
    size: Size
    verdict: Verdict  # against the whole model
    vector_bytes: int
    model_bytes: int
    sentences_per_second: float
    query_ms: float

    @property
    def title(self) -> str:
        """Model and size."""
        return f"{self.model}, {self.size.title}"

    @property
    def score(self) -> float:
        """The score × 100; NaN if there is none."""
        return math.nan if self.verdict.exported is None else self.verdict.exported

    @property
    def gap(self) -> str:
        """The difference to the whole model with its interval: `-0.42 (-0.89 to +0.05)`."""
        return self.verdict.gap or in_words.NONE


@dataclass(frozen=True)
class SizeCost:
    """A cost to draw the score against: its name, its value at a point, and whether less of it is better."""

    name: str
    of: Callable[[Point], float]
    less_is_better: bool = True


COSTS: Mapping[str, SizeCost] = {
    cost.name: cost
    for cost in (
        SizeCost("sentences per second", lambda point: point.sentences_per_second, less_is_better=False),
        SizeCost("milliseconds per query", lambda point: point.query_ms),
        SizeCost("bytes per vector", lambda point: point.vector_bytes),
        SizeCost("bytes of the model", lambda point: point.model_bytes),
    )
}


@dataclass(frozen=True)
class Picture:
    """Every point, and what they were measured on."""

    points: tuple[Point, ...]  # the first is the whole model as people use it
    evaluation: str
    items: int
    measure: str
    text: str  # what projections and int8 were fitted on
    sentences: int  # of that text
    way: str  # how dimensions were cut
    device: str
    precision: str
    seconds: float

    @property
    def whole(self) -> Point:
        """The whole model as people use it."""
        return self.points[0]

    @cached_property
    def models(self) -> tuple[str, ...]:
        """The names of its encoders."""
        return tuple(dict.fromkeys(point.model for point in self.points))

    def named(self, point: Point) -> str:
        """The size of a point, with its model if there are several."""
        return point.title if len(self.models) > 1 else point.size.title


def front(points: Sequence[Point], costs: Sequence[str]) -> list[Point]:
    """The points that no other point beats: none is as good in all of score and costs and better in one."""
    known = [point for point in points if not math.isnan(point.score)]
    rows = {point: (-point.score, *(_signed(COSTS[name], point) for name in costs)) for point in known}
    return [point for point in known if not any(_beats(rows[other], rows[point]) for other in known)]


def _signed(cost: SizeCost, point: Point) -> float:
    return cost.of(point) if cost.less_is_better else -cost.of(point)


def _beats(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one != other and all(ours <= theirs for ours, theirs in zip(one, other, strict=True))
