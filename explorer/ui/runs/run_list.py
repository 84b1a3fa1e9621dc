"""List the runs, newest first, with their scores; a click chooses one."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from explorer import in_words
from explorer.data import sources
from explorer.measuring.comparing import learned
from explorer.training.record import runs
from explorer.training.record.runs import Run
from explorer.ui import messages
from explorer.ui.runs import run_metrics, training_queue

REDRAWN = 2.0  # seconds
_CHOSEN = "_a run was chosen"
POINTS = 50  # at most, in the small curve of a row
WIDTH = 7  # pixels of a character


def table(page: str, choose: Callable[[Run], object], text: str) -> None:
    """The list; nothing if there is no run yet. No row is selected after `page`, what the page shows, changes."""
    runs.collect()
    for line in runs.unreadable():
        st.warning(messages.plain(line), icon=":material/block:")
    # while a run waits or trains, its row changes
    st.fragment(_listed, run_every=REDRAWN if training_queue.under_way() else None)(page, choose, text)


def _listed(page: str, choose: Callable[[Run], object], text: str) -> None:
    if st.session_state.pop(_CHOSEN, False):
        st.rerun()  # the whole page shows what the click chose
    found = [*runs.every(), *runs.examples()]
    if not found:
        return
    st.subheader("Runs")
    key = f"runs beside {page}"
    rows = [_row(run) for run in found]
    st.dataframe(
        rows,
        key=key,
        on_select=lambda: _choose(found, key, choose),
        selection_mode="single-row",
        hide_index=True,
        column_config={
            "Test": _score("Test score × 100 of the tuned model: Spearman, or nDCG@10 or MRR@10 of queries."),
            "Gain": st.column_config.NumberColumn(
                format="%+.2f",
                width="small",
                help="Test score of the tuned model minus that of its base under model default. Above 0 is better; "
                "the verdict says whether it could be chance.",
            ),
            "Verdict": st.column_config.TextColumn(
                width=max((WIDTH * len(row["Verdict"] or "") for row in rows), default=0) or None,
                help="Small differences in meaning that were learned or lost, and whether the test score changed for "
                "certain.",
            ),
            "Dev, best": _score("Best dev score × 100 during training. It is optimistic; report the test."),
            "Dev by step": st.column_config.LineChartColumn(width="small"),
        },
    )
    st.caption(f"Select a row to {text}. Runs are saved in `checkpoints`, or in the folder that `STRATA_RUNS` names.")


def _score(help: str) -> Any:
    return st.column_config.NumberColumn(format="%.2f", width="small", help=help)


def _choose(found: list[Run], key: str, choose: Callable[[Run], object]) -> None:
    rows = st.session_state[key]["selection"]["rows"]
    if rows and rows[0] < len(found):
        choose(found[rows[0]])
        st.session_state[_CHOSEN] = True


def _row(run: Run) -> dict[str, Any]:
    status = training_queue.standing(run)
    tested = status.verdict and status.verdict.test
    scores = [one.dev for one in run_metrics.numbers(run.folder).evaluations()]
    stride = max(1, len(scores) // POINTS)
    return {
        "Run": messages.ends(run.name),
        "State": "example" if run.is_example else status.state,
        "Verdict": learned.short(status.learned),
        "Gain": tested and tested.difference,
        "Test": tested and tested.exported,
        "Method": status.facts.method or None,
        "Base": messages.ends(sources.shown(status.facts.model)),
        "Dev, best": status.shown_best,
        "Dev by step": scores[::stride] or None,
        "Time": in_words.duration(status.seconds) if status.seconds else None,
    }
