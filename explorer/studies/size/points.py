"""Sizes of an encoder: which are measured, and what each of them costs and scores, as a table and in words."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from explorer import in_words, typed_json
from explorer.data import sources
from explorer.data.graded.sets import SetIdentity
from explorer.encoding.read.pooling import MODEL_DEFAULT, OWN, POOLINGS, Reading, Row
from explorer.in_words import rounded
from explorer.knobs import Knobs, knob
from explorer.measuring.scores.verdict import Verdict
from explorer.studies.size.smaller_vectors import FIRST, PCA, STORAGES, WAYS
from explorer.studies.size.weight_formats import TITLES, WEIGHTS

if TYPE_CHECKING:
    from explorer.evaluating.results.table_formats import TableCell, TableColumn

FRONT = "No other size beats those of the front: none is as good in score and all four costs, and better in one."


@dataclass(frozen=True)
class Size:
    """How small an encoder is: layers, pooling, dimensions, and the format of a stored number."""

    layers: int
    pooling: str  # "model default" of the whole encoder, with the maps after it
    dimensions: int
    stored: str
    weights: str = "float32"
    tokens: int = 0  # of a vocabulary that was cut; 0: all

    @property
    def cell(self) -> Reading:
        """Its layer & pooling."""
        return OWN if self.pooling == MODEL_DEFAULT else Reading(Row((self.layers,)), self.pooling)

    @property
    def reading(self) -> str:
        """The title of its layer & pooling."""
        return self.cell.title

    @property
    def title(self) -> str:
        """`mean of layer 3, 128 dimensions, int8`, with weights that are not in float32, and tokens if not all."""
        weights = "" if self.weights == "float32" else f", weights in {self.weights}"
        tokens = f", {self.tokens:,} tokens" if self.tokens else ""
        return f"{self.reading}, {self.dimensions} dimensions, {self.stored}{weights}{tokens}"


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
    weights: tuple[str, ...] = knob(
        (),
        title="Weights",
        choices=WEIGHTS,
        titles=TITLES,
        empty="as they are loaded",
        help="Of the encoder itself. float32 and bfloat16 run in torch. The others are ONNX files that ONNX Runtime "
        "runs on the processor: int8 stores every weight in one byte, with a scale for each output of a layer, or per "
        "tensor; the word embeddings can stay in float32.",
    )
    words: SetIdentity | None = knob(
        None,
        item=SetIdentity,
        reads=sources.text,
        metavar="FILE|NAME",
        title="Vocabulary",
        empty="all words",
        help="All words, or only those of a text: its tokens and all single characters. Sentences of these words have "
        "the same vectors; other words are spelled with shorter tokens.",
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
class SizeSubjects(Knobs):
    """What sizes are scored on, and the encoders beside them."""

    on: SetIdentity | None = knob(
        None,
        item=SetIdentity,
        reads=sources.identity,
        metavar="SET|FILE",
        empty="the sample pairs",
        help="Scored pairs, a retrieval set, triplets, or labelled texts such as TREC, by name or path.",
    )
    others: tuple[str, ...] = knob(
        (),
        flag="with",
        metavar="MODEL",
        repeated=True,
        help="Another encoder to show in the same table, such as run:NAME of method distil.",
    )
    static: bool = knob(
        False,
        title="With its static encoder",
        help="In the same table also the mean of a vector for each token, made of this encoder as model2vec does.",
    )


@dataclass(frozen=True)
class ShownSizes(Knobs):
    """Which of the measured sizes a page lists."""

    only_front: bool = knob(True, title="Only the front", help=FRONT)


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
    memory_bytes: int | None = None  # of a process that encodes with it; known where formats of weights are compared

    @property
    def title(self) -> str:
        """Model and size."""
        return f"{self.model}, {self.size.title}"

    @property
    def score(self) -> float:
        """The score × 100; NaN if there is none."""
        return math.nan if self.verdict.after is None else self.verdict.after

    @property
    def gap(self) -> str:
        """The difference to the whole model with its interval: `−0.42 (−0.89 to +0.05)`."""
        return self.verdict.gap or in_words.NONE


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
    why_no_score: str = ""  # in words, of a set that has none
    words: str = ""  # the text whose tokens a cut vocabulary has
    device_name: str = ""  # as people call it

    @property
    def whole(self) -> Point:
        """The whole model as people use it."""
        return self.points[0]

    @cached_property
    def models(self) -> tuple[str, ...]:
        """The names of its encoders."""
        return tuple(dict.fromkeys(point.model for point in self.points))

    @property
    def has_memory(self) -> bool:
        """Whether the memory of any of them was measured."""
        return any(point.memory_bytes for point in self.points)

    def named(self, point: Point) -> str:
        """The size of a point, with its model if there are several."""
        return point.title if len(self.models) > 1 else point.size.title


MEMORY = "memory of a process"  # that has encoded a batch with the whole encoder
MORE_IS_BETTER = "sentences per second"  # of the other costs, less
COSTS: Mapping[str, Callable[[Point], float]] = {
    MORE_IS_BETTER: lambda point: point.sentences_per_second,
    "milliseconds per query": lambda point: point.query_ms,
    "bytes per vector": lambda point: point.vector_bytes,
    "bytes of the model": lambda point: point.model_bytes,
}


def described(picture: Picture, point: Point) -> dict[str, str]:
    """What a point is, by column of a table of sizes."""
    size = point.size
    named = {"model": point.model, "layer & pooling": size.reading, "dimensions": f"{size.dimensions}"}
    tokens = {"tokens": tokens_of(size)} if picture.words else {}
    return {**named, "stored as": size.stored, "weights in": size.weights, **tokens}


def tokens_of(size: Size) -> str:
    """The number of tokens of a vocabulary."""
    return f"{size.tokens:,}" if size.tokens else "all"


def front(points: Sequence[Point], costs: Sequence[str]) -> list[Point]:
    """The points that no other point beats: none is as good in all of score and costs and better in one."""
    known = [point for point in points if not math.isnan(point.score)]
    signs = {name: -1 if name == MORE_IS_BETTER else 1 for name in costs}
    rows = {point: (-point.score, *(sign * COSTS[name](point) for name, sign in signs.items())) for point in known}

    def beats(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
        return one != other and all(ours <= theirs for ours, theirs in zip(one, other, strict=True))

    return [point for point in known if not any(beats(rows[other], rows[point]) for other in known)]


def cells(picture: Picture) -> tuple[list[TableColumn], list[list[TableCell]]]:
    """Header and a row for each point; the last cell says whether no other point is better at no higher cost."""
    from explorer.evaluating.results.table_formats import Number, TableColumn  # here, as in `as_text`

    best = set(front(picture.points, tuple(COSTS)))
    score = picture.measure, picture.evaluation
    header = [
        *(TableColumn(name, is_text=True) for name in described(picture, picture.whole)),
        *(TableColumn(name, *score) for name in ("score", "difference to the whole (95 % CI)")),
        *map(TableColumn, ("sentences/s", "ms per query", "bytes per vector", "bytes of weights")),
        *[TableColumn(MEMORY)] * picture.has_memory,
        TableColumn("front", is_text=True),
    ]
    rows: list[list[TableCell]] = []
    for point in picture.points:
        verdict, known, memory = point.verdict, point.verdict.known, point.memory_bytes
        gap = Number(known[2], low=verdict.low, high=verdict.high, text=point.gap) if known else None
        rows.append(
            [
                *described(picture, point).values(),
                None if math.isnan(point.score) else Number(point.score),
                gap,
                Number(point.sentences_per_second, digits=0),
                Number(point.query_ms),
                Number(point.vector_bytes, digits=0),
                Number(point.model_bytes, text=in_words.size(point.model_bytes)),
                *[Number(memory, text=in_words.size(memory)) if memory else None] * picture.has_memory,
                "yes" if point in best else "",
            ]
        )
    return header, rows


def as_text(picture: Picture, form: str = "text") -> str:
    """The table in one of the formats of tables, or as columns of a terminal with what was measured below."""
    from explorer.evaluating.results import table_formats  # here, since each start of a command loads this file

    if form == "json":
        return as_json(picture)
    if form in table_formats.FORMATS:
        return table_formats.written(form, *cells(picture))
    return table_formats.as_text(*cells(picture)) + f"\n{text_of(picture)} {FRONT}\n"


def text_of(picture: Picture) -> str:
    """What was measured and how, in a few sentences."""
    device = picture.device_name or picture.device
    cut = "the first dimensions as they are" if picture.way == FIRST else f"PCA on {picture.sentences:,} sentences"
    words = f"A cut vocabulary has the tokens of {picture.words} and all characters. " if picture.words else ""
    return (
        f"{picture.measure} × 100 on {picture.evaluation} ({picture.items:,} items). Dimensions are cut by {cut} of "
        f"{picture.text}, which also set the step of int8; none of them is in the evaluation set. {words}Speed: "
        f"tokenising and encoding on {device} in {picture.precision} unless the weights are in another format "
        "(ONNX files on the processor), in batches of 32 and alone. The best of "
        "many sizes looks better on the set that it is chosen on than on others: test an exported encoder on other "
        "data."
    )


def as_json(picture: Picture) -> str:
    """Everything, with full numbers; a score that is not there is null."""
    best = set(front(picture.points, tuple(COSTS)))
    rows = [{**_content(point), "front": point in best} for point in picture.points]
    return json.dumps({**typed_json.written(picture), "points": rows}, ensure_ascii=False, indent=1) + "\n"


def _content(point: Point) -> dict[str, object]:
    found, verdict = asdict(point), point.verdict
    del found["model"], found["verdict"]
    size = found.pop("size")
    judged = {"score": point.score, "difference": verdict.difference, "low": verdict.low, "high": verdict.high}
    numbers = {name: value if isinstance(value, int) else rounded(value) for name, value in (judged | found).items()}
    return {"model": point.model, "layer & pooling": point.size.reading, **size, **numbers}
