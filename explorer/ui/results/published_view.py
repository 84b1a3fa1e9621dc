"""Show published scores beside those of a measured model, with the difference and what differs in the setting."""

from __future__ import annotations

import streamlit as st

from explorer.evaluating.results.published_rows import PublishedRow, rows_for, what_differs
from explorer.evaluating.results.result_table import Model
from explorer.ui import messages
from explorer.ui.results.filters import Chosen
from explorer.ui.widgets import segments

POOLING = 120  # pixels: the width follows from the shorter names
HERE = "measured here"  # in place of the base
SCORES, DIFFERENCES = "published", "measured - published"


def show(chosen: Chosen) -> None:
    """The rows of a paper's table; nothing if no paper has a score on the tasks shown."""
    published = rows_for(chosen.tasks)
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
    tasks = [task for task in chosen.tasks if any(task in row.scores for row in rows)]
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
    differs = what_differs(rows, measured, chosen.title)
    used = ", ".join(dict.fromkeys(rows[0].measure(task) for task in tasks))
    st.caption(f"What differs from the paper: {messages.plain('; '.join(differs))}. Measure: {used}.")


def _measured_row(measured: Model, like: PublishedRow, tasks: list[str], title: str) -> dict[str, object]:
    cells = {task: measured.cell(task, title, like.measure(task)) for task in tasks}
    scores = {task: None if cell is None else cell.mean for task, cell in cells.items()}
    return {"model": measured.name, "base": HERE, "pooling": title, **scores}


def _row(row: PublishedRow, measured: Model, tasks: list[str], kind: str, title: str) -> dict[str, object]:
    if kind == DIFFERENCES:
        numbers = {task: row.difference(measured, task, title) for task in tasks}
    else:
        cells = {task: row.cell(task) for task in tasks}
        numbers = {task: None if cell is None else cell.mean for task, cell in cells.items()}
    return {"model": row.model, "base": row.base, "pooling": row.pooling, **numbers}
