"""Keep the shown plan in the address, so that a reload and a second tab show the same plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from explorer.ui.runs import shown_in_address

if TYPE_CHECKING:
    from explorer.studies.plans.plan_folder import PlanFolder

PLAN = "plan"
SEEN = "_plan that was shown"
GONE = "The plan {} is no longer there: it was deleted."


def asked_for() -> PlanFolder | None:
    """The plan that the address names; None if it names none, or a missing one (with an error)."""
    if PLAN not in st.query_params:
        return None
    from explorer.studies.plans import plan_folder

    return shown_in_address.asked_for(PLAN, SEEN, plan_folder.find, GONE)


def choose(name: str) -> None:
    """Show a plan."""
    st.query_params[PLAN] = name


def leave() -> None:
    """Show the form."""
    st.query_params.pop(PLAN, None)
