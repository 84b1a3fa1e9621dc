"""Show published scores beside those of a measured model, with the difference and what differs in the setting."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from explorer.evaluating.results import task_labels
from explorer.evaluating.results.published_rows import PublishedRow, rows_for, what_differs
from explorer.evaluating.results.result_table import ModelRow
from explorer.evaluating.results.scored_task import FINE_TUNING, ScoredTask
from explorer.ui import messages
from explorer.ui.results.filters import FilteredResults
from explorer.ui.widgets import segments

POOLING = 120  # pixels: the width follows from the shorter names
HERE = "measured here"  # in place of the base
SCORES, DIFFERENCES = "published", "measured - published"


def show(chosen: FilteredResults) -> None:
    """The rows of a paper's table; nothing if no paper has a score on the tasks shown."""
    published = rows_for([task.name for task in chosen.tasks if task.kind != FINE_TUNING])
    if not published or not chosen.rows:
        return
    st.subheader("Published scores")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        sources = list(dict.fromkeys(row.source for row in published))
        source = st.selectbox("Table", sources, key="published", bind="query-params", width=320) or sources[0]
        names = [row.name for row in chosen.rows]
        name = st.selectbox("Measured model", names, key="published_beside", bind="query-params", width=320) or names[0]
        kind = segments.chosen("Show", (SCORES, DIFFERENCES), default=SCORES, key="published_as")
    measured = next(row for row in chosen.rows if row.name == name)
    rows = [row for row in published if row.source == source]
    named = task_labels.labels(chosen.tasks)
    tasks = {
        named[task.digest]: task
        for task in chosen.tasks
        if task.kind != FINE_TUNING and any(task.name in row.scores for row in rows)
    }
    first = [_measured_row(measured, rows[0], tasks, chosen.title)] if kind == SCORES else []
    st.dataframe(
        [*first, *(_row(row, measured, tasks, kind, chosen.title) for row in rows)],
        hide_index=True,
        placeholder="",
        column_config={
            "model": st.column_config.TextColumn(pinned=True, width="medium"),
            "pooling": st.column_config.TextColumn(width=POOLING),
            **{
                task: st.column_config.NumberColumn(format="%+.2f" if kind == DIFFERENCES else "%.2f") for task in tasks
            },
        },
    )
    differs = what_differs(rows, measured, list(tasks.values()), chosen.title)
    used = ", ".join(dict.fromkeys(rows[0].measure(task.name) for task in tasks.values()))
    st.caption(f"What differs from the paper: {messages.plain('; '.join(differs))}. Measure: {used}.")


def _measured_row(
    measured: ModelRow, like: PublishedRow, tasks: Mapping[str, ScoredTask], title: str
) -> dict[str, object]:
    cells = {label: measured.cell(task, title, like.measure(task.name)) for label, task in tasks.items()}
    scores = {label: None if cell is None else cell.mean for label, cell in cells.items()}
    return {"model": measured.name, "base": HERE, "pooling": title, **scores}


def _row(
    row: PublishedRow, measured: ModelRow, tasks: Mapping[str, ScoredTask], kind: str, title: str
) -> dict[str, object]:
    if kind == DIFFERENCES:
        numbers = {label: row.difference(measured, task, title) for label, task in tasks.items()}
    else:
        cells = {label: row.cell(task.name) for label, task in tasks.items()}
        numbers = {label: None if cell is None else cell.mean for label, cell in cells.items()}
    return {"model": row.model, "base": row.base, "pooling": row.pooling, **numbers}
