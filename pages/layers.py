"""Which layer, under which pooling, agrees best with people?"""

import streamlit as st

from explorer.drawing import distribution, figures
from explorer.encoding.readings import GRID_POOLINGS, readings
from explorer.measuring.scores import AGGREGATES, METRICS
from explorer.ui import controls, downloads, frame, panels

GRID = "grid of readings"
CARD = {"delta_color": "off", "delta_arrow": "off", "border": True, "width": "content"}
# the camera in a figure's corner saves what papers can print
CAMERA = {"displaylogo": False, "toImageButtonOptions": {"format": "svg", "filename": "strata-layers"}}


def choose_clicked() -> None:
    """Make the clicked cell the reading of every page; runs before the page is drawn anew."""
    points = st.session_state[GRID]["selection"]["points"]
    if points:
        controls.choose_reading(readings(last)[int(points[0]["customdata"])])


def headline() -> None:
    """The best reading, the published one and the chosen one, and how they were measured."""
    best, own = scores.best(metric, aggregate), scores.own_score(metric, aggregate)
    cards = st.container(horizontal=True)
    if best is not None:
        count = len(scores.rows) * len(GRID_POOLINGS)
        cards.metric(f"Best of {count} readings", f"{scores.score(best, metric, aggregate):.2f}", best.title, **CARD)
    chosen = scores.score(reading, metric, aggregate)
    cards.metric("Chosen reading", f"{chosen:.2f}" if chosen == chosen else "none", reading.title, **CARD)
    if own is not None:
        cards.metric("As published", f"{own:.2f}", scores.own_title, **CARD)
    cut = f"{scores.truncated:,} of them were cut" if scores.truncated else "none was cut"
    st.caption(
        f"{metric} × 100 of {len(measured.pairs):,} pairs. {scores.sentences:,} sentences, at most "
        f"{scores.max_length} tokens each: {cut}. Computed in {scores.precision} on {scores.device} "
        f"in {scores.seconds:.1f} s, and kept."
    )


frame.enter()
choice = controls.chosen()
st.title("Layers")
measured = panels.measured(choice)
if measured is None:
    st.stop()
scores, reading, last = measured.scores, measured.reading, measured.scores.last

with st.container(horizontal=True):
    metric = st.segmented_control(
        "Metric", list(METRICS), default="Spearman", required=True, key="metric", bind="query-params"
    )
    aggregate = "all"
    if scores.has_parts:
        aggregate = st.segmented_control(
            "Sub-corpora",
            AGGREGATES,
            default="all",
            required=True,
            key="aggregate",
            bind="query-params",
            help="all: one correlation of all pairs. mean: the mean over sub-corpora. wmean: weighted by their sizes.",
        )
headline()

left, right = st.columns([2, 3], gap="medium")
with left:
    st.subheader("Every reading")
    st.plotly_chart(
        figures.layer_by_pooling(scores, metric, aggregate, reading),
        key=GRID,
        on_select=choose_clicked,
        selection_mode="points",
        config=CAMERA,
        alt=f"{metric} of every layer under every pooling, as a grid. The table below holds the same numbers.",
    )
with right:
    st.subheader("By layer")
    st.plotly_chart(
        figures.score_by_layer(scores, metric, aggregate, reading),
        config=CAMERA,
        alt=f"{metric} by layer, a line for each pooling. The table below holds the same numbers.",
    )
st.info(
    "The best cell is found on the pairs it is scored on: a look around, not a result. To report a number, "
    "choose the reading on a development split and score it on a test split.",
    icon=":material/balance:",
)
st.caption("Click a cell to make it the reading of every page, or choose it in the sidebar; the address remembers it.")

st.subheader(f"Cosines by what people said: {reading.title}")
st.plotly_chart(
    distribution.cosine_by_gold(scores, measured.pairs, reading),
    config=CAMERA,
    alt=f"Cosines of {reading.title} by the score people gave.",
)

st.subheader("Take it along")
downloads.offer(measured, metric, aggregate)
