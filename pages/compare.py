"""What changed from A to B, how surely, and where?"""

import streamlit as st

from explorer.drawing import beside, difference, gold_histograms, grid
from explorer.encoding.readings import GRID_POOLINGS, OWN, readings
from explorer.errors import StrataError
from explorer.measuring import gold_bins
from explorer.measuring.bootstrap import LEVEL, RESAMPLES, Interval
from explorer.measuring.comparing import Comparison, Differences
from explorer.measuring.findings import Findings, by_layer
from explorer.ui import (
    cached,
    camera,
    controls,
    downloads,
    flips,
    frame,
    geometry_view,
    notices,
    panels,
    picking,
    reach,
    report_button,
    score_ways,
    sides,
    verdict,
)


def ask_for_another() -> None:
    """Without B there is nothing to compare: the runs there are, each a click away."""
    st.info("Choose B, the encoder to compare with, in the sidebar under **Beside it**.", icon=":material/compare:")
    for name in [one for one in controls.encoders() if one != controls.chosen().source][:6]:
        st.button(f"Compare with {notices.plain(name)}", key=f"beside {name}", on_click=sides.choose, args=(name,))
    st.page_link("pages/train.py", label="Train one", icon=":material/model_training:")


def alone(choice: controls.Choice) -> None:
    """What needs no B: how the layers of A lie in space."""
    if not geometry_view.asked(1):
        return
    shown = panels.shown(choice)
    if shown is not None:
        geometry = geometry_view.found((shown,), pooling_control(), choice.settings)
        if geometry is not None:
            geometry_view.show(geometry, None, shown.found.name)


def pooling_control() -> str:
    """The pooling of what is drawn by layer."""
    pooling: str = st.segmented_control(
        "Pooling", list(GRID_POOLINGS), default="mean", required=True, key="compared_pooling", bind="query-params"
    )
    return pooling


def choose_clicked(key: str, side: str, last: int) -> None:
    """Make the clicked cell the reading: A's in A's grid, B's in B's, both in the grid of differences."""
    points = st.session_state[key]["selection"]["points"]
    if points:
        reading = (*readings(last), OWN)[int(points[0]["customdata"])]
        if side != "B":
            controls.choose_reading(reading)
        if side != "A":
            st.session_state["beside_reading"] = reading.title


def grids(comparison: Comparison, metric: str, aggregate: str, differences: Differences) -> None:
    """A, B, and what changed, cell by cell."""
    span = grid.span_of(comparison.one, comparison.other, metric=metric, aggregate=aggregate)
    columns = st.columns(3, gap="small")
    for name, scores, reading, column in (
        ("A", comparison.one, comparison.one_reading, columns[0]),
        ("B", comparison.other, comparison.other_reading, columns[1]),
    ):
        with column:
            st.subheader(name)
            key = f"grid of {name}"
            st.plotly_chart(
                grid.layer_by_pooling(scores, metric, aggregate, reading, span, short=True),
                key=key,
                on_select=lambda key=key, name=name, last=scores.last: choose_clicked(key, name, last),
                selection_mode="points",
                config=camera.config(f"grid-{name}"),
                alt=f"{metric} of every reading of {name}, as a grid. The table below holds the numbers.",
            )
    with columns[2]:
        st.subheader("B - A")
        if differences.grid is None:
            st.info(
                f"A has {comparison.one.last} layers and B {comparison.other.last}: no cell of one is a cell of the "
                "other. The chosen readings are compared above.",
                icon=":material/difference:",
            )
            return
        st.plotly_chart(
            difference.difference_grid(comparison, differences.grid, differences.own),
            key="grid of differences",
            on_select=lambda: choose_clicked("grid of differences", "both", comparison.one.last),
            selection_mode="points",
            config=camera.config("grid-difference"),
            alt="What every reading gained or lost. The table below holds the numbers.",
        )


def lines(comparison: Comparison, metric: str, aggregate: str, differences: Interval | None, stem: str) -> str:
    """Lines by layer under a pooling, which is told, and cosines by what people said."""
    left, right = st.columns(2, gap="medium")
    with left:
        st.subheader("By layer")
        pooling = pooling_control()
        st.plotly_chart(
            beside.compared_by_layer(comparison, pooling, metric, aggregate, differences),
            config=camera.config("by-layer"),
            alt=f"{metric} of A and B by layer under {pooling}, and the difference with its interval.",
        )
    with right:
        st.subheader("Cosines by what people said")
        bins = comparison.gold_bins()
        st.plotly_chart(
            gold_histograms.cosines_by_gold(bins),
            config=camera.config("cosines"),
            alt="Histograms of the cosines of both readings, one for every fifth of the scale of grades. "
            "The file below holds the numbers.",
        )
        st.caption(gold_bins.HOW_TO_READ)
        downloads.rows(gold_bins.gold_bin_rows(bins), f"{stem} cosines", "Histograms (CSV)")
    return pooling


frame.enter()
choice, other = controls.chosen(), sides.beside()
st.title("Compare")
if reach.encoder(choice.source) is None:
    st.stop()
if other is None:
    ask_for_another()
    alone(choice)
    st.stop()
one_shown, other_shown = panels.shown(choice), panels.shown(other)
if one_shown is None or other_shown is None:
    st.stop()
try:
    comparison = Comparison(one_shown.scores, other_shown.scores, one_shown.reading, other_shown.reading)
    ways = score_ways.ways(one_shown.scores)
    differences = cached.differences((one_shown.measured, other_shown.measured), comparison, *ways)
except StrataError as error:
    notices.trouble(error)
    st.stop()
st.markdown(
    f"**A** {notices.plain(one_shown.found.name)} · **B** {notices.plain(other_shown.found.name)} · "
    f"{notices.plain(one_shown.pairs.name)}"
)
verdict.cards(comparison, *ways, differences.chosen)
st.caption(
    f"{ways[0]} × 100 of {len(one_shown.pairs):,} pairs. In brackets the middle {LEVEL:.0%} of {RESAMPLES:,} resamples "
    "of the pairs, the same for both (paired bootstrap): an interval that holds 0 is within what the draw of pairs can "
    "bring about."
)
grids(comparison, *ways, differences)
for told in comparison.told_not_measured:
    st.caption(told)
both, stem = (one_shown, other_shown), f"{one_shown.found.name} {other_shown.found.name}"
st.info(
    "A cell that is picked here is picked on the pairs it is scored on. A number to report is that of a reading "
    "picked on development pairs.",
    icon=":material/balance:",
)
pick = picking.picked(both, (choice, other), ways[0])
if pick is not None:
    picking.show(pick, both, *ways)
pooling = lines(comparison, *ways, differences.grid, stem)
asked = geometry_view.asked(2)
geometry = geometry_view.found(both, pooling, choice.settings) if asked else None
if geometry is not None:
    geometry_view.show(geometry, by_layer(comparison, differences, pooling), stem)
flips.show(one_shown.pairs, comparison)
st.subheader("Take it along")
findings = Findings(
    (one_shown.found, other_shown.found), one_shown.pairs, comparison, differences, *ways, seed=0, picked=pick
)
rows = findings.cells()
if rows:
    st.dataframe(rows, hide_index=True, height=38 * min(8, len(rows) + 1))
    downloads.rows(rows, stem, "Table (CSV)")
if asked and geometry is None:
    st.caption("The report can be saved here when the geometry above is there.")
else:
    report_button.offer(findings, both, pooling, choice.settings)
