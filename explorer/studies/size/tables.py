"""The size-quality picture as a table (text, CSV, Markdown, JSON) and in words: how small without loss."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict

from explorer import in_words
from explorer.evaluating.results import table_formats
from explorer.in_words import rounded
from explorer.measuring.scores.verdict import BETTER, CHANCE, UNKNOWN, WORSE, Sentence
from explorer.studies.size.points import COSTS, Picture, Point, front

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


def cells(picture: Picture) -> list[tuple[str, ...]]:
    """A row of texts for each point; the last cell says whether no other point is better at no higher cost."""
    best = set(front(picture.points, tuple(COSTS)))
    return [(*_row(point), "yes" if point in best else "") for point in picture.points]


def as_text(picture: Picture, form: str = "text") -> str:
    """The table in one of the formats of tables, or as columns of a terminal with what was measured below."""
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
