"""Show the scores of the chosen models by layer, a small figure for each task."""

from collections.abc import Mapping

import streamlit as st

from explorer.drawing.scores.by_layer import Lines, scores_by_layer
from explorer.encoding.read.pooling import POOLINGS
from explorer.evaluating.results import scored_task
from explorer.evaluating.results.scored_task import Measured, ScoredTask
from explorer.ui.results.filters import FilteredResults
from explorer.ui.widgets import downloads, segments

CHOSEN = "chosen layer & pooling"
SCORES = ("nDCG@10", "model default", "difference")


def show(chosen: FilteredResults) -> None:
    """The figures, for one pooling; nothing if no task was scored by layer."""
    labels = scored_task.labels(chosen.tasks)
    known = [name for name in POOLINGS if any(lines_of(chosen, task, name) for task in chosen.tasks)]
    if not known:
        return
    st.subheader("Scores by layer")
    pooling = segments.chosen(
        "Pooling",
        known,
        default="mean" if "mean" in known else known[0],
        key="results_pooling",
        help="The pooling of every layer, 0 to the last.",
    )
    tasks = {labels[task.digest]: lines for task in chosen.tasks if (lines := lines_of(chosen, task, pooling))}
    if not tasks:
        st.info(f"No task was scored under {pooling}.", icon=":material/block:")
        return
    downloads.draw(
        scores_by_layer(tasks),
        config=downloads.config("results by layer"),
        alt=f"Scores of {len(chosen.rows)} models by layer under {pooling}, one figure for each of {len(tasks)} tasks.",
    )
    st.caption("The lines are those of the first seed of each recipe.")
    _choices(chosen, labels)


def _choices(chosen: FilteredResults, labels: Mapping[str, str]) -> None:
    """Of each retrieval set, the layer & pooling that its queries choose, with its score on queries left for that."""
    rows = [
        {
            "task": labels[task.digest],
            "model": row.name,
            CHOSEN: choice.title,
            "nDCG@10": choice.score,
            "model default": choice.default_score,
            "difference": choice.difference,
            "95 % CI": f"{choice.low:+.2f} to {choice.high:+.2f}",
        }
        for task in chosen.tasks
        for row in chosen.rows
        if (measured := row.first(task)) and measured.intervals and (choice := measured.intervals.choice)
    ]
    if not rows:
        return
    st.markdown("**Layer & pooling chosen by queries**")
    two_places = {name: st.column_config.NumberColumn(format="%.2f") for name in SCORES}
    st.dataframe(rows, hide_index=True, column_config=two_places)
    st.caption("Half of the queries choose the layer & pooling with the highest nDCG@10; all scores are on the others.")


def lines_of(chosen: FilteredResults, task: ScoredTask, pooling: str) -> Lines:
    """The scores of each model on a task, from layer 0 on."""
    found = {row.name: row.first(task) for row in chosen.rows}
    lines = {name: _by_layer(measured, pooling, chosen.measure) for name, measured in found.items() if measured}
    return {name: scores for name, scores in lines.items() if scores}


def _by_layer(measured: Measured, pooling: str, measure: str | None) -> list[float]:
    if measure is not None and measure not in measured.measures:
        return []
    titles = [f"{pooling} of layer {layer}" for layer in range(len(measured.titles))]
    return [measured.score(title, measure) for title in titles if title in measured.titles]
