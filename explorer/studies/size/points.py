"""The size-quality picture: what encoders of each size cost and score, as points, as a table and in words."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property

from explorer import in_words
from explorer.encoding.read.pooling import MODEL_DEFAULT, POOLINGS, title_of
from explorer.in_words import rounded
from explorer.knobs import Knobs, knob
from explorer.measuring.scores.verdict import BETTER, CHANCE, UNKNOWN, WORSE, Sentence, Verdict
from explorer.studies.size.compression import FIRST, PCA, STORAGES, WAYS

FRONT = "No other size beats those of the front: none is as good in score and all four costs, and better in one."
HEADER = (
    "model",
    "layer & pooling",
    "dimensions",
    "stored as",
    "score",
    "difference to the whole (95 % CI)",
    "sentences/s",
    "ms per query",
    "bytes per vector",
    "weights",
    "front",
)


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


def cells(picture: Picture) -> list[tuple[str, ...]]:
    """A row of texts for each point; the last cell says whether no other point is better at no higher cost."""
    best = set(front(picture.points, tuple(COSTS)))
    return [(*_row(point), "yes" if point in best else "") for point in picture.points]


def as_text(picture: Picture, form: str = "text") -> str:
    """The table in one of the formats of tables, or as columns of a terminal with what was measured below."""
    from explorer.evaluating.results import table_formats  # here, since each start of a command loads this file

    if form == "json":
        return as_json(picture)
    if form in table_formats.FORMATS:
        return table_formats.written(form, HEADER, cells(picture))
    return table_formats.as_text(HEADER, cells(picture)) + f"\n{text_of(picture)} {FRONT}\n"


def text_of(picture: Picture) -> str:
    """What was measured and how, in a few sentences."""
    cut = "the first dimensions as they are" if picture.way == "first" else f"PCA on {picture.sentences:,} sentences"
    return (
        f"{picture.measure} × 100 on {picture.evaluation} ({picture.items:,} items). Dimensions are cut by {cut} of "
        f"{picture.text}, which also set the step of int8; none of them is in the evaluation set. Speed: tokenising "
        f"and encoding on {picture.device} in {picture.precision}, in batches of 32 and alone. The best of many sizes "
        "looks better on the set that it is chosen on than on others: test an exported encoder on other data."
    )


def as_json(picture: Picture) -> str:
    """Everything, with full numbers; a score that is not there is null."""
    best = set(front(picture.points, tuple(COSTS)))
    rows = [{**_content(point), "front": point in best} for point in picture.points]
    return json.dumps({**asdict(picture), "points": rows}, ensure_ascii=False, indent=1) + "\n"


def _content(point: Point) -> dict[str, object]:
    found, verdict = asdict(point), point.verdict
    del found["model"], found["verdict"]
    size = found.pop("size")
    judged = {"score": point.score, "difference": verdict.difference, "low": verdict.low, "high": verdict.high}
    numbers = {name: value if isinstance(value, int) else rounded(value) for name, value in (judged | found).items()}
    return {"model": point.model, "layer & pooling": point.size.reading, **size, **numbers}


def _row(point: Point) -> tuple[str, ...]:
    return (
        point.model,
        point.size.reading,
        f"{point.size.dimensions}",
        point.size.stored,
        in_words.number(point.score),
        point.gap,
        f"{point.sentences_per_second:,.0f}",
        f"{point.query_ms:.2f}",
        f"{point.vector_bytes:,}",
        in_words.size(point.model_bytes),
    )


def equals(picture: Picture) -> list[Point]:
    """The points other than the whole model whose score is not significantly lower than its score."""
    return [point for point in picture.points[1:] if point.verdict.kind in (BETTER, CHANCE)]


def verdict(picture: Picture) -> tuple[Sentence, ...]:
    """The smallest vectors and the fastest encoder without a significant loss, in a sentence each."""
    good, whole = equals(picture), picture.whole
    if not picture.points[1:]:
        return (_sentence(UNKNOWN, "Only the whole model was measured."),)
    if not good:
        nearest = max(picture.points[1:], key=lambda point: _or_lowest(point.verdict.difference))
        text = f"Every smaller encoder is significantly worse than the whole model ({in_words.number(whole.score)}). "
        return (
            _sentence(WORSE, f"{text}The nearest is {picture.named(nearest)}, difference (95 % CI) {nearest.gap}."),
        )
    smallest = _smallest(good, picture, lambda point: point.vector_bytes, "The smallest vectors", _bytes)
    if any(point.size.layers < whole.size.layers for point in good):
        return smallest, _smallest(good, picture, lambda point: point.query_ms, "The fastest encoder", _times)
    return smallest, _sentence(WORSE, "Every encoder with fewer layers is significantly worse.")


def _sentence(kind: str, text: str) -> Sentence:
    return Sentence(kind, ((text, False),))


def _or_lowest(difference: float | None) -> float:
    return -math.inf if difference is None else difference


def _smallest(
    good: list[Point], picture: Picture, cost: Callable[[Point], float], name: str, text: Callable[[Point, Point], str]
) -> Sentence:
    """The point of the lowest cost, and of equal costs the one with the highest score."""
    best = min(good, key=lambda point: (cost(point), -point.score))
    size = f"{picture.named(best)}, {text(best, picture.whole)}"
    message = f"{name} without a significant loss: {size}. Difference (95 % CI): {best.gap}."
    return _sentence(best.verdict.kind, message)


def _bytes(point: Point, whole: Point) -> str:
    return f"{point.vector_bytes:,} bytes in place of {whole.vector_bytes:,}"


def _times(point: Point, whole: Point) -> str:
    faster = point.sentences_per_second / whole.sentences_per_second
    return f"{faster:.1f} times as many sentences per second"
