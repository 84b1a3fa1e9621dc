"""Draw A, B and B - A as grids, then scores by layer and cosines by gold score."""

import streamlit as st

from explorer.drawing.scores import difference, distributions, grid
from explorer.measuring.comparing import cosines_by_grade
from explorer.measuring.scores.layer_scores import LayerScores
from explorer.ui.compare.compared import Compared
from explorer.ui.frame import sidebar
from explorer.ui.widgets import clicks, downloads, segments

DIFFERENCE = "B - A"
NO_CELLS = "No differences by cell. {} The chosen layers & poolings are compared above."


def pooling_control(*sides: LayerScores) -> str:
    """The pooling of the figures by layer: one that the grids of all sides have."""
    pooling: str = segments.chosen(
        "Pooling of the curves",
        [one for one in sides[0].poolings if all(one in scores.poolings for scores in sides)],
        default="mean",
        key="compared_pooling",
    )
    return pooling


def grids(compared: Compared, *, but: str = "") -> None:
    """The grids of A, of B and of the differences, but for the one that `one` has drawn."""
    names = [name for name in ("A", "B", DIFFERENCE) if name != but]
    for name, column in zip(names, st.columns(len(names), gap="small"), strict=True):
        with column:
            _grid(compared, name)
    for text in compared.comparison.not_measured_text:
        st.caption(text)
    st.caption(
        "Choosing a cell on the pairs that it is scored on inflates its score. To report a number, choose on a dev set "
        "and report on a test set."
    )


def one(compared: Compared, height: int) -> str:
    """The grid of differences, or that of B where there are none, at least so high; gives its name."""
    name = "B" if compared.differences.grid is None else DIFFERENCE
    _grid(compared, name, height)
    return name


def _grid(compared: Compared, name: str, height: int = 0) -> None:
    if name == DIFFERENCE:
        st.subheader(name)
        _differences(compared, height)
        return
    comparison, metric, aggregate = compared.comparison, compared.metric, compared.aggregate
    scores = comparison.one if name == "A" else comparison.other
    reading = comparison.one_reading if name == "A" else comparison.other_reading
    span = grid.span_of(comparison.one, comparison.other, metric=metric, aggregate=aggregate)
    key = f"grid of {name}"
    st.subheader(f"{name}: every layer & pooling")
    downloads.draw(
        grid.layer_by_pooling(scores, metric, aggregate, reading, span, short=True),
        least=height,
        key=key,
        on_select=lambda: _choose_clicked(key, name, scores),
        selection_mode="points",
        config=downloads.config(f"grid-{name}"),
        alt=f"{metric} of every layer & pooling of {name}, as a grid. The table below has the numbers.",
    )


def _differences(compared: Compared, height: int) -> None:
    comparison, differences = compared.comparison, compared.differences
    if differences.grid is None:
        st.info(NO_CELLS.format(comparison.why_no_cells), icon=":material/difference:")
        return
    downloads.draw(
        difference.difference_grid(comparison, differences.grid, differences.own),
        least=height,
        key="grid of differences",
        on_select=lambda: _choose_clicked("grid of differences", "both", comparison.one),
        selection_mode="points",
        config=downloads.config("grid-difference"),
        alt="B minus A for every layer & pooling. The table below has the numbers.",
    )


def _choose_clicked(key: str, side: str, scores: LayerScores) -> None:
    """Choose the clicked cell: for A in A's grid, for B in B's, for both in the grid of differences."""
    reading = clicks.clicked_cell(key, scores)
    if reading is not None and side != "B":
        sidebar.choose_reading(reading)
    if reading is not None and side != "A":
        sidebar.choose_reading_of_b(reading)


def lines(compared: Compared) -> str:
    """Lines by layer under a pooling, which is returned, and cosines by gold score."""
    comparison, metric, aggregate = compared.comparison, compared.metric, compared.aggregate
    left, right = st.columns(2, gap="medium")
    with left:
        st.subheader("By layer")
        pooling = pooling_control(comparison.one, comparison.other)
        downloads.draw(
            difference.compared_by_layer(comparison, pooling, metric, aggregate, compared.differences.grid),
            config=downloads.config("by-layer"),
            alt=f"{metric} of A and B by layer under {pooling}, and the difference with its interval.",
        )
    if compared.sides[0].graded is None:
        return pooling
    with right:
        st.subheader("Cosines by gold score")
        bins = comparison.gold_bins()
        downloads.draw(
            distributions.cosines_by_gold(bins),
            config=downloads.config("cosines"),
            alt="Histograms of the cosines of A and B, one for each fifth of the gold score scale. "
            "The file below has the numbers.",
        )
        st.caption(cosines_by_grade.HOW_TO_READ)
        downloads.rows(cosines_by_grade.gold_bin_rows(bins), f"{compared.stem} cosines", "Histograms (CSV)")
    return pooling
