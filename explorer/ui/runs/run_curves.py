"""Draw a run's curves: dev scores, loss and geometry, with a warning where all vectors become alike."""

from __future__ import annotations

import streamlit as st

from explorer.drawing.runs import metric_curves
from explorer.training.record.runs import Run
from explorer.training.record.status import Status
from explorer.ui import messages
from explorer.ui.runs import run_metrics
from explorer.ui.runs.run_metrics import Line
from explorer.ui.widgets import picture_format

ALIKE = 0.99  # a mean cosine of strangers from which on nothing is told apart


def figures(run: Run, status: Status) -> None:
    """The development scores beside the loss; how the vectors lie is folded."""
    lines = run_metrics.numbers(run.folder).lines()
    if not lines:
        return
    _collapse(lines)
    total = status.total if status.live else 0  # what is over goes nowhere
    left, right = st.columns(2, gap="medium")
    with left:
        reading = str(status.facts.get("reading") or "")
        st.markdown("**Spearman on the dev set**" + (f", {messages.plain(reading)}" * bool(reading)))
        st.plotly_chart(
            metric_curves.dev_scores(lines, status.base, total, same_reading=same_reading(status)),
            key=f"dev {run.name}",
            config=picture_format.config("run"),
            alt="The dev score by step, with the base's scores as horizontal lines. The log holds the numbers.",
        )
    with right:
        st.markdown("**Loss**, each step and smoothed")
        st.plotly_chart(
            metric_curves.losses(lines, total),
            key=f"loss {run.name}",
            config=picture_format.config("run"),
            alt="The loss by step, as it is and smoothed.",
        )
    # drawn when it is open, and not every second for nobody
    folded = st.expander(
        "How the vectors lie", icon=":material/scatter_plot:", key=f"open geometry {run.name}", on_change="rerun"
    )
    if not folded.open:
        return
    with folded:
        st.caption(
            "Cosines are those of the loss, in a batch. Alignment and uniformity (Wang and Isola 2020) are of the "
            "development pairs; lower is better for both."
        )
        st.plotly_chart(
            metric_curves.geometry(lines, total),
            key=f"geometry {run.name}",
            config=picture_format.config("run"),
            alt="Mean cosines of partners and strangers, alignment and uniformity by step.",
        )


def same_reading(status: Status) -> float | None:
    """The base's dev score under the layer & pooling that is trained."""
    return status.verdict.dev.same_reading_base if status.verdict and status.verdict.dev else None


def _collapse(lines: list[Line]) -> None:
    looks = [line for line in lines if "strangers" in line]
    if not looks:
        return
    last = max(looks, key=lambda line: (line["number"], line["step"]))
    if last["strangers"] >= ALIKE:
        st.warning(
            f"At step {last['step']} of seed {last['seed']}, two sentences picked at random have a mean cosine of "
            f"{last['strangers']:.3f}: everything has become alike. Start again with a lower learning rate, or a "
            "larger temperature.",
            icon=":material/compress:",
        )
