"""Cache the table of a plan until a run, a result, a text or a base model changes."""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from explorer.evaluating.results import result_files
from explorer.places import stamps
from explorer.run_folder import STATUS, folders_with
from explorer.training.record.runs import Run
from explorer.ui.runs import plan_queue

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
    """A value that changes when a run begins or ends, a task is evaluated, or a text or base model is another one."""
    from explorer.studies.plans import plan_folder

    runs = stamps(sorted(folder / STATUS for folder in folders_with(STATUS)))
    states = tuple(_ended(*one) or Run(Path(one[0]).parent).status().state for one in runs)
    begun = stamps([plan_folder.plans_folder() / plan.name / STATUS])  # its tasks are in it
    return states, begun, plan_queue.as_it_is(plan), result_files.stamp() if plan.tasks else ()


@lru_cache(maxsize=10_000)
def _ended(path: str, stamp: Hashable) -> Hashable:
    """The state of a run that ended, and when; None for one that may change without a word, since its process ends."""
    status = Run(Path(path).parent).status()
    return None if status.live else (path, stamp, status.state)
