"""Keep the shown plan in the address, so that a reload and a second tab show the same plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from explorer.errors import RunNotFound
from explorer.ui import messages

if TYPE_CHECKING:
    from explorer.studies.plans.plan_folder import PlanFolder

PLAN = "plan"
SEEN = "_plan that was shown"
GONE = "The plan {} is no longer there: it was deleted."


def asked_for() -> PlanFolder | None:
    """The plan that the address names; None if it names none, or a missing one (with an error)."""
    name = st.query_params.get(PLAN)
    if name is None:
        return None
    from explorer.studies.plans import plan_folder

    try:
        found = plan_folder.find(name)
    except RunNotFound as error:
        if name == st.session_state.get(SEEN):  # since it was shown, here or in another tab
            leave()
            st.toast(GONE.format(messages.plain(name)), icon=":material/delete:")
        else:
            messages.trouble(error)
        return None
    st.session_state[SEEN] = name
    return found


def choose(name: str) -> None:
    """Show a plan."""
    st.query_params[PLAN] = name


def leave() -> None:
    """Show the form."""
    st.query_params.pop(PLAN, None)
