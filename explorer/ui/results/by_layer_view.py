"""Show the scores of the chosen models by layer, a small figure for each task."""

from __future__ import annotations

import streamlit as st

from explorer.drawing.scores.task_lines import Lines, scores_by_layer
from explorer.encoding.read.readings import GRID_POOLINGS
from explorer.evaluating.measured import Measured
from explorer.evaluating.tasks import layer_choice
from explorer.ui.results.filters import Chosen
from explorer.ui.widgets import picture_format, segments


def show(chosen: Chosen) -> None:
    """The figures, for one pooling; nothing if no task was scored by layer."""
    if not any(lines_of(chosen, task, pooling) for task in chosen.tasks for pooling in GRID_POOLINGS):
        return
    st.subheader("Scores by layer")
    pooling = segments.chosen(
        "Pooling",
        GRID_POOLINGS,
        default="mean",
        key="results_pooling",
        help="The pooling of every layer, 0 to the last.",
    )
    tasks = {task: lines for task in chosen.tasks if (lines := lines_of(chosen, task, pooling))}
    if not tasks:
        st.info(f"No task was scored under {pooling}.", icon=":material/block:")
        return
    st.plotly_chart(
        scores_by_layer(tasks),
        config=picture_format.config("results by layer"),
        alt=f"Scores of {len(chosen.rows)} models by layer under {pooling}, one figure for each of {len(tasks)} tasks.",
    )
    st.caption("The lines are those of the first seed of each recipe.")
    _choices(chosen)


def _choices(chosen: Chosen) -> None:
    """Of each retrieval set, the layer & pooling that its queries choose, with its score on queries left for that."""
    rows = [
        {
            "task": task,
            "model": row.name,
            "chosen on half of the queries": setting[layer_choice.CHOSEN],
            "its nDCG@10 on the other half": setting[layer_choice.ITS_SCORE],
            "model default there": setting[layer_choice.DEFAULT_SCORE],
            "difference": setting[layer_choice.DIFFERENCE],
            "95 % CI": setting[layer_choice.DIFFERENCE_INTERVAL],
        }
        for task in chosen.tasks
        for row in chosen.rows
        if (measured := row.runs[0].get(task)) and layer_choice.CHOSEN in (setting := measured.setting)
    ]
    if rows:
        st.markdown("**Layer & pooling chosen by queries**")
        st.dataframe(rows, hide_index=True, key="choices by queries")


def lines_of(chosen: Chosen, task: str, pooling: str) -> Lines:
    """The scores of each model on a task, from layer 0 on."""
    found = {row.name: row.runs[0].get(task) for row in chosen.rows}
    lines = {name: _by_layer(measured, pooling, chosen.measure) for name, measured in found.items() if measured}
    return {name: scores for name, scores in lines.items() if scores}


def _by_layer(measured: Measured, pooling: str, measure: str | None) -> list[float]:
    if measure is not None and measure not in measured.measures:
        return []
    titles = [f"{pooling} of layer {layer}" for layer in range(len(measured.titles))]
    return [measured.score(title, measure) for title in titles if title in measured.titles]
