"""Which layer, under which pooling, agrees best with people?"""

import numpy as np
import streamlit as st

from explorer.data import sets
from explorer.drawing import by_layer, distribution, grid
from explorer.encoding.readings import OWN, Reading, readings
from explorer.measuring.scores import NOT_MEASURABLE, LayerScores
from explorer.ui import camera, controls, downloads, frame, notices, panels, score_ways

GRID = "grid of readings"


def choose_clicked(last: int) -> None:
    """Make the clicked cell the reading of every page; runs before the page is drawn anew."""
    points = st.session_state[GRID]["selection"]["points"]
    if points:
        controls.choose_reading((*readings(last), OWN)[int(points[0]["customdata"])])


def headline(shown: panels.Shown, metric: str, aggregate: str) -> None:
    """The best reading, the chosen one and the model's own, and how they were measured."""
    scores, reading = shown.scores, shown.reading
    best, own = scores.best(metric, aggregate), scores.own_score(metric, aggregate)
    cards = st.container(horizontal=True)
    if best is not None:
        count = np.isfinite(scores.table(metric, aggregate)).sum()
        score = score_ways.told(scores.score(best, metric, aggregate))
        notices.number(cards, f"Best of {count} readings", score, best.title, border=True)
    score = score_ways.told(scores.score(reading, metric, aggregate))
    notices.number(cards, "Chosen reading", score, reading.title, border=True)
    if own is not None:
        notices.number(cards, "The model's own reading", score_ways.told(own), scores.own_title, border=True)
    cut = f"{scores.truncated:,} of them were cut" if scores.truncated else "none was cut"
    st.caption(
        f"{metric} × 100 of {len(shown.pairs):,} pairs. {scores.sentences:,} sentences, at most "
        f"{scores.max_length} tokens each: {cut}. Computed in {scores.precision} on {scores.device} "
        f"in {scores.seconds:.1f} s."
    )
    if aggregate != "all" and scores.silent_parts:
        silent = ", ".join(scores.silent_parts[:5])
        st.warning(
            notices.plain(f"No {aggregate}: {silent} has no correlation of its own, as all its grades are the same.")
            + " Choose **all**.",
            icon=":material/block:",
        )


def pictures(scores: LayerScores, metric: str, aggregate: str, reading: Reading) -> None:
    """The grid, to be clicked, and the same numbers as lines."""
    left, right = st.columns([2, 3], gap="medium")
    with left:
        st.subheader("Every reading")
        st.plotly_chart(
            grid.layer_by_pooling(scores, metric, aggregate, reading),
            key=GRID,
            on_select=lambda: choose_clicked(scores.last),
            selection_mode="points",
            config=camera.config("layers"),
            alt=f"{metric} of every layer under every pooling, as a grid. The table below holds the same numbers.",
        )
        if scores.told_not_measured:
            st.caption(scores.told_not_measured)
    with right:
        st.subheader("By layer")
        st.plotly_chart(
            by_layer.score_by_layer(scores, metric, aggregate, reading),
            config=camera.config("layers"),
            alt=f"{metric} by layer, a line for each pooling. The table below holds the same numbers.",
        )


frame.enter()
choice = controls.chosen()
st.title("Layers")
shown = panels.shown(choice)
if shown is None:
    st.stop()

metric, aggregate = score_ways.ways(shown.scores)
headline(shown, metric, aggregate)
pictures(shown.scores, metric, aggregate, shown.reading)
st.info(
    "The best cell is found on the pairs it is scored on: a look around, not a result. To report a number, "
    "choose the reading on a development split and score it on a test split.",
    icon=":material/balance:",
)
st.caption("Click a cell to make it the reading of every page, or choose it in the sidebar; the address remembers it.")
if choice.sts == sets.SAMPLE:
    st.caption("The sample shows what this page does. Its pairs were chosen with the bundled encoder in view.")

st.subheader(f"Cosines by what people said: {shown.reading.title}")
if shown.scores.is_measured(shown.reading):
    st.plotly_chart(
        distribution.cosine_by_gold(shown.scores, shown.pairs, shown.reading),
        config=camera.config("layers"),
        alt=f"Cosines of {shown.reading.title} by the score people gave.",
    )
else:
    st.info(f"{shown.reading.title} is {NOT_MEASURABLE.format(shown.scores.precision)}.", icon=":material/block:")

st.subheader("Take it along")
downloads.offer(shown, metric, aggregate)
