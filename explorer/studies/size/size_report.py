"""Draw the sizes of an encoder, score against cost, and write them as one HTML file."""

from dataclasses import replace

from explorer import in_words
from explorer.data import sources
from explorer.drawing.reports import standalone
from explorer.drawing.scores.costs import SizeMark, size_quality
from explorer.evaluating.results.table_formats import shown
from explorer.measuring.scores.verdict import WORSE
from explorer.studies.size import points, size_verdict
from explorer.studies.size.points import COSTS, Picture, Point, front
from explorer.training.record import runs

HOLLOW = "Higher is better. A hollow mark: the difference to the whole model could be chance."


def marks(picture: Picture, cost: str, chosen: Point | None = None) -> list[SizeMark]:
    """The mark of every size in the figure of score against one of the costs."""
    best = set(front(picture.points, [cost]))
    found = []
    for number, point in enumerate(picture.points):
        model = runs.model_title(point.model)
        text = (
            f"{picture.named(replace(point, model=model))}: {in_words.number(point.score)}, difference {point.gap}, "
            f"{point.sentences_per_second:,.0f} sentences per second, {point.query_ms:.1f} ms per query, "
            f"{point.vector_bytes:,} bytes per vector"
        )
        family = ", ".join(
            (
                point.size.pooling,
                *[f"weights in {point.size.weights}"] * (point.size.weights != picture.whole.size.weights),
                *[model] * (len(picture.models) > 1),
            )
        )
        costs, chance = COSTS[cost](point), point.verdict.kind != WORSE
        about = number, family, point.size.stored, costs, point.score, chance, text
        found.append(SizeMark(*about, on_front=point in best, chosen=point == chosen))
    return found


def report(picture: Picture) -> bytes:
    """The HTML file: what is as good as the whole model, a figure for each cost, and every size."""
    header, lines = shown(*points.cells(picture))
    body = [
        *map(standalone.verdict, size_verdict.verdict(picture)),
        standalone.note(HOLLOW),
        *(
            standalone.picture(
                size_quality(marks(picture, cost), picture.whole.score, cost, picture.measure), f"Score against {cost}"
            )
            for cost in COSTS
        ),
        standalone.heading("Sizes"),
        standalone.table([dict(zip(header, line, strict=True)) for line in lines]),
        standalone.note(f"{points.text_of(picture)} {points.FRONT}"),
    ]
    return standalone.page(f"Sizes of {' and '.join(map(sources.shown, picture.models))}", body)
