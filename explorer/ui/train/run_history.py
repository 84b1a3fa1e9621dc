"""List the runs, newest first; a click on one shows it."""

from __future__ import annotations

from typing import Any

import streamlit as st

from explorer.training.model_card.card import named
from explorer.training.record import run_verdict, runs
from explorer.training.record.runs import Run
from explorer.ui.runs import run_in_address, run_metrics, run_status_text, training_queue

POINTS = 50  # of a curve that is a few letters wide
SCORE = st.column_config.NumberColumn(format="%.2f", width="small")


def table(shown: Run | None) -> None:
    """The list; nothing where there is no run yet."""
    found = [*runs.every(), *runs.examples()]
    if not found:
        return
    st.subheader("Runs")
    # a table of its own for each run that is shown: with it goes the mark on the row that was clicked
    key = f"runs beside {shown.name if shown else 'the form'}"
    st.dataframe(
        [_row(run) for run in found],
        key=key,
        on_select=lambda: _choose(found, key),
        selection_mode="single-row",
        hide_index=True,
        column_config={
            "Base": st.column_config.TextColumn(width="medium"),
            "Test": SCORE,
            "Gain": st.column_config.NumberColumn(
                format="%+.2f",
                width="small",
                help="Test score of the tuned model, as exported, less that of its base, as people use it.",
            ),
            "Dev, best": SCORE,
            "Dev by step": st.column_config.LineChartColumn(width="small"),
        },
    )
    st.caption(
        "Tick a row to show its run. A run is a folder below the one that `STRATA_RUNS` names, else `checkpoints`."
    )


def _choose(found: list[Run], key: str) -> None:
    rows = st.session_state[key]["selection"]["rows"]
    if rows and rows[0] < len(found):
        run_in_address.choose(found[rows[0]])


def _row(run: Run) -> dict[str, Any]:
    status = training_queue.standing(run)
    tested, verdict = status.verdict and status.verdict.test, run_verdict.headline(status)
    scores = [line.get("dev") for line in run_metrics.numbers(run.folder).looks()]
    stride = max(1, len(scores) // POINTS)
    return {
        "Run": run.name,
        "State": "example" if run.is_example else status.state,
        "Method": status.facts.get("method"),
        "Base": named(str(status.facts.get("model", ""))),
        "Test": tested and tested.exported,
        "Gain": tested and tested.difference,
        "Verdict": verdict and verdict.word,
        "Dev, best": status.best,
        "Dev by step": scores[::stride] or None,
        "Time": run_status_text.duration(status.seconds) if status.seconds else None,
    }
