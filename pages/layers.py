"""Score every layer & pooling against human scores, and name the best."""

import streamlit as st

from explorer.data.graded import sets
from explorer.drawing.scores import by_layer, cosine_boxes, grid
from explorer.encoding.read.readings import OWN, Reading, readings
from explorer.measuring.scores.layer_scores import NOT_MEASURABLE, LayerScores
from explorer.ui import messages
from explorer.ui.access import side_scores, sidebar_choice
from explorer.ui.frame import page_frame, sidebar
from explorer.ui.layers import best_layer
from explorer.ui.widgets import downloads, picture_format, score_options

GRID = "grid of readings"


def choose_clicked(last: int) -> None:
    """Make the clicked cell the reading of every page; runs before the page is drawn anew."""
    points = st.session_state[GRID]["selection"]["points"]
    if points:
        sidebar.choose_reading((*readings(last), OWN)[int(points[0]["customdata"])])


def silent(scores: LayerScores, aggregate: str) -> None:
    """Name the sub-corpora that have no correlation, where they are averaged."""
    if aggregate != "all" and scores.silent_parts:
        some = ", ".join(scores.silent_parts[:5])
        st.warning(
            messages.plain(f"No {aggregate}: {some} has no correlation of its own, as all its grades are the same.")
            + " Choose **all**.",
            icon=":material/block:",
        )


def pictures(scores: LayerScores, metric: str, aggregate: str, reading: Reading) -> None:
    """The grid, to be clicked, and the same numbers as lines."""
    left, right = st.columns([2, 3], gap="medium")
    with left:
        st.subheader("Every layer & pooling")
        st.plotly_chart(
            grid.layer_by_pooling(scores, metric, aggregate, reading),
            key=GRID,
            on_select=lambda: choose_clicked(scores.last),
            selection_mode="points",
            config=picture_format.config("layers"),
            alt=f"{metric} of every layer under every pooling, as a grid. The table below holds the same numbers.",
        )
        if scores.told_not_measured:
            st.caption(scores.told_not_measured)
    with right:
        st.subheader("By layer")
        st.plotly_chart(
            by_layer.score_by_layer(scores, metric, aggregate, reading),
            config=picture_format.config("layers"),
            alt=f"{metric} by layer, a line for each pooling. The table below holds the same numbers.",
        )


page_frame.enter()
choice = sidebar_choice.chosen()
st.title("Layers")
shown = side_scores.shown(choice)
if shown is None:
    st.stop()

metric, aggregate = score_options.ways(shown.scores)
silent(shown.scores, aggregate)
best_layer.headline(shown, choice, metric, aggregate)
pictures(shown.scores, metric, aggregate, shown.reading)
st.caption(
    f"The grid shows all {len(shown.pairs):,} pairs of {messages.plain(shown.pairs.name)}. Click a cell to choose its "
    "layer & pooling for every page, or choose in the sidebar; the address remembers it."
)
if choice.sts == sets.SAMPLE:
    st.caption("The sample shows what this page does. Its pairs were chosen with the bundled encoder in view.")

st.subheader(f"Cosines by what people said: {shown.reading.title}")
if shown.scores.is_measured(shown.reading):
    st.plotly_chart(
        cosine_boxes.cosine_by_gold(shown.scores, shown.pairs, shown.reading),
        config=picture_format.config("layers"),
        alt=f"Cosines of {shown.reading.title} by the score people gave.",
    )
else:
    st.info(f"{shown.reading.title} is {NOT_MEASURABLE.format(shown.scores.precision)}.", icon=":material/block:")

st.subheader("Take it along")
downloads.offer(shown, metric, aggregate)
