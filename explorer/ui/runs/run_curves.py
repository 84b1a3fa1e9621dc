"""Draw a run's curves (dev score, loss, geometry), with a warning if the embeddings collapse."""

from __future__ import annotations

import streamlit as st

from explorer.drawing.scores import metric_curves
from explorer.run_folder import Evaluation, MetricLine
from explorer.training.record.runs import Run
from explorer.training.record.status import Status
from explorer.ui import messages
from explorer.ui.runs import run_metrics
from explorer.ui.widgets import picture_format

ALIKE = 0.99  # mean cosine of random pairs from which on the embeddings have collapsed


COLLAPSED = (
    "The embeddings have collapsed: at step {} of seed {}, random pairs have a mean cosine of {:.3f}. Train again with "
    "a lower learning rate or a larger temperature."
)

ROUNDED = (
    "Steps are evaluated in bfloat16, as the run trains: up to 0.2 from the scores of base and tuned model, which are "
    "in float32."
)


def figures(run: Run, status: Status) -> None:
    """The dev score next to the loss; embedding geometry is folded."""
    lines = run_metrics.numbers(run.folder).lines()
    if not lines:
        return
    _collapse(lines)
    total = status.total if status.live else 0  # an ended run needs no room for further steps
    left, right = st.columns(2, gap="medium")
    with left:
        reading = status.facts.reading.words if status.facts.reading else ""
        measure = status.facts.measure_of("dev")
        st.markdown(f"**{measure} on the dev set**" + (f", {messages.plain(reading)}" * bool(reading)))
        picture_format.draw(
            metric_curves.dev_scores(lines, status.base, total, same_reading=same_reading(status), measure=measure),
            key=f"dev {run.name}",
            config=picture_format.config("run"),
            alt="The dev score by step, with the base's scores as horizontal lines. The log holds the numbers.",
        )
        if status.facts.precision == "bfloat16":
            st.caption(ROUNDED)
    with right:
        st.markdown("**Loss**, each step and smoothed")
        picture_format.draw(
            metric_curves.losses(lines, total),
            key=f"loss {run.name}",
            config=picture_format.config("run"),
            alt="The loss by step, as it is and smoothed.",
        )
    # drawn only while it is open
    folded = st.expander(
        "Embedding geometry", icon=":material/scatter_plot:", key=f"open geometry {run.name}", on_change="rerun"
    )
    if not folded.open:
        return
    with folded:
        st.caption(
            "Mean cosine in training batches: of positive pairs (higher is better) and of random pairs (lower is "
            "better; near 1 is collapse). Alignment and uniformity (Wang and Isola 2020) on the dev set: lower is "
            "better for both."
        )
        picture_format.draw(
            metric_curves.geometry(lines, total),
            key=f"geometry {run.name}",
            config=picture_format.config("run"),
            alt="Mean cosines of positive pairs and random pairs, alignment and uniformity by step.",
        )


def same_reading(status: Status) -> float | None:
    """The base's dev score under the layer & pooling that is trained."""
    return status.verdict.dev.same_reading_base if status.verdict and status.verdict.dev else None


def _collapse(lines: list[MetricLine]) -> None:
    evaluations = [line for line in lines if isinstance(line, Evaluation)]
    if not evaluations:
        return
    last = max(evaluations, key=lambda one: (one.number, one.step))
    if last.strangers is not None and last.strangers >= ALIKE:
        st.warning(COLLAPSED.format(last.step, last.seed, last.strangers), icon=":material/compress:")
