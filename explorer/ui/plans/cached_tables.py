"""Cache the table of a plan until a run or a result changes."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

import streamlit as st

from explorer.places import results_folder
from explorer.training.record import runs
from explorer.training.record import status as statuses

if TYPE_CHECKING:
    from explorer.studies.plan import Plan
    from explorer.studies.plan_folder import PlanFolder
    from explorer.studies.plan_table import PlanTable


def table(folder: PlanFolder) -> PlanTable:
    """The table as it stands; an error if the plan cannot be read."""
    plan = folder.plan()
    return _table(str(folder.folder), repr(plan), stamp(plan), plan)


@st.cache_resource(max_entries=8, show_spinner=False)
def _table(folder: str, told: str, stamp: Hashable, _plan: Plan) -> PlanTable:
    from explorer.studies import plan_table

    return plan_table.table(_plan)


def stamp(plan: Plan) -> Hashable:
    """A value that changes when a run begins or ends, and when a task of the plan is evaluated."""
    states = tuple((str(run.folder), status.state, status.seconds if status.state == statuses.FINISHED else 0.0)
                   for run in runs.every() for status in [run.status()])  # fmt: skip
    results = sorted(path.stat().st_mtime_ns for path in results_folder().glob("*/*")) if plan.tasks else []
    return states, tuple(results)
