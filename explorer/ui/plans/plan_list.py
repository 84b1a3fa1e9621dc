"""List the plans, newest first, and keep the shown one in the address for a reload and a second tab."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from explorer.data import sources
from explorer.errors import StrataError
from explorer.places import runs_folder
from explorer.ui import messages
from explorer.ui.runs import plan_queue, train_page

if TYPE_CHECKING:
    from explorer.studies.plans.plan_folder import PlanFolder

PLAN = "plan"
SEEN = "_plan that was shown"
GONE = "The plan {} is no longer there: it was deleted."


def table(shown: str) -> None:
    """The list; nothing if there is no plan yet. No row is selected after `shown`, what the page shows, changes."""
    if not any(runs_folder().glob("plans/[!.]*")):
        return
    from explorer.studies.plans import plan_folder

    found = plan_folder.every()
    if not found:
        return
    st.subheader("Plans")
    key = f"plans beside {shown}"
    st.dataframe(
        [_row(folder) for folder in found],
        key=key,
        on_select=lambda: _choose(found, key),
        selection_mode="single-row",
        hide_index=True,
    )
    st.caption("Select a row to show its plan. Plans are saved beside the runs, in the folder `plans`.")


def _choose(found: list[PlanFolder], key: str) -> None:
    rows = st.session_state[key]["selection"]["rows"]
    if rows and rows[0] < len(found):
        choose(found[rows[0]].name)


def _row(folder: PlanFolder) -> dict[str, Any]:
    status = plan_queue.standing(folder)
    row: dict[str, Any] = {"Plan": folder.name, "State": status.state}
    try:
        plan = folder.plan()
    except StrataError as error:
        return row | {"Methods": messages.shortened(str(error))}
    methods = dict.fromkeys([*plan.methods, *(one.method for one in plan.variants if one.method)])
    row |= {"Methods": ", ".join(methods), "Models": ", ".join(map(sources.shown, plan.models))}
    row |= {"Rows": plan.rows, "Seeds": len(plan.seeds)}
    problems = {"Failures": len(status.failures), "Left out": len(status.left_out)}
    return row | {name: count for name, count in problems.items() if count}  # most plans have neither


def asked_for() -> PlanFolder | None:
    """The plan that the address names; None if it names none, or a missing one (with an error)."""
    if PLAN not in st.query_params:
        return None
    from explorer.studies.plans import plan_folder

    return train_page.shown_under(PLAN, SEEN, plan_folder.find, GONE)


def choose(name: str) -> None:
    """Show a plan."""
    st.query_params[PLAN] = name


def leave() -> None:
    """Show the form."""
    st.query_params.pop(PLAN, None)
