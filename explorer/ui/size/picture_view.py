"""Show the size-quality picture: the verdict, the figure to click, and the table."""

import streamlit as st

from explorer.drawing.scores.score_by_cost import SizeMark, size_quality
from explorer.encoding.read.pooling import MODEL_DEFAULT, OWN, parse
from explorer.in_words import rounded
from explorer.measuring.scores.verdict import WORSE
from explorer.studies.size import points as size_points
from explorer.studies.size.points import COSTS, Picture, Point, front
from explorer.ui import messages
from explorer.ui.frame import sidebar
from explorer.ui.widgets import downloads, verdict_banner

COST, FIGURE, CHOSEN, ONLY_FRONT = "cost", "size and quality", "_chosen size", "only the front"
HELP = "Higher is better. A hollow mark: the difference to the whole model could be chance."


def headline(picture: Picture) -> None:
    """The verdict in a coloured box."""
    verdict_banner.show(*size_points.verdict(picture), icon=":material/compress:")


def show(picture: Picture) -> None:
    """The figure and the table."""
    cost: str = st.selectbox("Cost", list(COSTS), key=COST, bind="query-params", width=300, help=HELP)
    points = picture.points
    numbers = {point: number for number, point in enumerate(points)}
    downloads.draw(
        size_quality(
            [_mark(picture, point, number, cost) for point, number in numbers.items()],
            [numbers[point] for point in front(points, [cost])],
            picture.whole.score,
            cost,
            picture.measure,
            numbers.get(chosen(picture)),
        ),
        key=FIGURE,
        on_select=lambda: _choose(picture),
        selection_mode="points",
        config=downloads.config("sizes"),
        alt=f"{picture.measure} of every size against {cost}. The table below has the same numbers.",
    )
    st.caption(
        f"{messages.plain(size_points.text_of(picture))} Click a mark to choose its layer & pooling for every page, "
        "and its size for the export below."
    )
    _table(picture)


def chosen(picture: Picture) -> Point:
    """The point that was clicked; else the one with the smallest vectors among those as good as the whole model."""
    title = st.session_state.get(CHOSEN)
    named = (point for point in picture.points if picture.named(point) == title)
    good = size_points.equals(picture)
    best = min(good, key=lambda point: (point.vector_bytes, -point.score)) if good else picture.whole
    return next(named, best)


def _choose(picture: Picture) -> None:
    """Take the clicked point; runs before the page reruns."""
    points = st.session_state[FIGURE]["selection"]["points"]
    clicked = [int(point["customdata"]) for point in points if point.get("customdata") is not None]
    if not clicked:
        return
    point = picture.points[clicked[0]]
    st.session_state[CHOSEN] = picture.named(point)
    if point.model == picture.whole.model:
        last = picture.whole.size.layers
        sidebar.choose_reading(OWN if point.size.pooling == MODEL_DEFAULT else parse(point.size.reading, last))


def _table(picture: Picture) -> None:
    best = set(front(picture.points, tuple(COSTS)))
    only = st.toggle(
        "Only the front",
        True,
        key=ONLY_FRONT,
        help=size_points.FRONT,
    )
    shown = [point for point in picture.points if point in best] if only else list(picture.points)
    downloads.table([_row(picture, point) for point in shown], lines=12)
    st.download_button(
        "Table (CSV)",
        lambda: size_points.as_text(picture, "csv"),
        "sizes.csv",
        "text/csv",
        icon=":material/table:",
        on_click="ignore",
        key="sizes as csv",
    )


def _row(picture: Picture, point: Point) -> dict[str, object]:
    verdict = point.verdict
    numbers = (point.score, verdict.difference, verdict.low, verdict.high)
    score, difference, low, high = (rounded(number, 2) for number in numbers)
    return {
        **({"model": point.model} if len(picture.models) > 1 else {}),
        "layer & pooling": point.size.reading,
        "dimensions": point.size.dimensions,
        "stored as": point.size.stored,
        "score": score,
        "difference": difference,
        "95 % CI, low": low,
        "95 % CI, high": high,
        **{name: rounded(cost.of(point), 2) for name, cost in COSTS.items()},
    }


def _mark(picture: Picture, point: Point, number: int, cost: str) -> SizeMark:
    text = (
        f"{picture.named(point)}: {point.score:.2f}, difference {point.gap}, "
        f"{point.sentences_per_second:,.0f} sentences per second, {point.query_ms:.1f} ms per query, "
        f"{point.vector_bytes:,} bytes per vector"
    )
    several = len(picture.models) > 1
    family = f"{point.size.pooling}, {point.model}" if several else point.size.pooling
    value = COSTS[cost].of(point)
    return SizeMark(number, family, point.size.stored, value, point.score, point.verdict.kind != WORSE, text)
