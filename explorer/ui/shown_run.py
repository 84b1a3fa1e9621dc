"""Which run does the page show? The one that the address names, so that a reload and a second tab show the same."""

from __future__ import annotations

import streamlit as st

from explorer.errors import RunNotFound
from explorer.training import runs
from explorer.training.runs import Run
from explorer.ui import notices

RUN = "run"
GONE = "_run that is gone"


def asked_for() -> Run | None:
    """The run of the address; None where it names none, or one that is not there, which is told."""
    name = st.query_params.get(RUN)
    if name is None:
        return None
    if name == st.session_state.pop(GONE, None):
        leave()
        st.toast(f"{notices.plain(name)} is gone.", icon=":material/delete:")
        return None
    try:
        return runs.find(name)
    except RunNotFound as error:
        notices.trouble(error)
        return None


def choose(run: Run) -> None:
    """Show a run."""
    st.query_params[RUN] = run.name


def vanished(run: Run) -> None:
    """A run that was in view is no longer there: the next drawing shows the form."""
    # the address is changed then: a change just before a rerun is lost
    st.session_state[GONE] = run.name
    st.rerun()


def leave() -> None:
    """Show the form."""
    st.query_params.pop(RUN, None)
