"""Cache the table of a plan until a run or a result changes."""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from explorer.evaluating.results import result_files
from explorer.run_folder import STATUS, folders_with
from explorer.training.record.runs import Run

if TYPE_CHECKING:
    from explorer.studies.plans.plan import Plan
    from explorer.studies.plans.plan_folder import PlanFolder
    from explorer.studies.plans.plan_table import PlanTable


def table(folder: PlanFolder, plan: Plan, stamp: Hashable) -> PlanTable:
    """The table as it stood at a stamp, or a little later."""
    return _table(str(folder.folder), repr(plan), stamp, plan)


@st.cache_resource(max_entries=8, show_spinner=False)
def _table(folder: str, told: str, stamp: Hashable, _plan: Plan) -> PlanTable:
    from explorer.studies.plans import plan_table

    return plan_table.table(_plan)


def stamp(plan: Plan) -> Hashable:
    """A value that changes when a run begins or ends, and when a task of the plan is evaluated."""
    from explorer.studies.plans import plan_folder

    files = sorted(folder / STATUS for folder in folders_with(STATUS))
    states = tuple((str(path), _ended(str(path), _changed(path)) or Run(path.parent).status().state) for path in files)
    begun = _changed(plan_folder.plans_folder() / plan.name / STATUS)  # its tasks are in it
    return states, begun, result_files.stamp() if plan.tasks else ()


@lru_cache(maxsize=10_000)
def _ended(path: str, changed: int) -> str:
    """The state of a run that ended, and when; "" for one that may change without a word, since its process ends."""
    status = Run(Path(path).parent).status()
    return "" if status.live else f"{status.state} {changed}"


def _changed(path: Path) -> int:
    """When a file was changed; 0 if it is gone."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
