"""Which run does the page show? The one that the address names, so that a reload and a second tab show the same."""

from __future__ import annotations

import streamlit as st

from explorer.errors import RunNotFound
from explorer.training.record import runs
from explorer.training.record.runs import Run
from explorer.ui import messages

RUN = "run"
SEEN = "_run that was shown"


def asked_for() -> Run | None:
    """The run of the address; None where it names none, or one that is not there, which is told."""
    name = st.query_params.get(RUN)
    if name is None:
        return None
    try:
        run = runs.find(name)
    except RunNotFound as error:
        if name == st.session_state.get(SEEN):  # discarded or deleted since, here or in another tab
            leave()
            st.toast(f"{messages.plain(name)} is gone.", icon=":material/delete:")
        else:
            messages.trouble(error)
        return None
    st.session_state[SEEN] = name
    return run


def choose(run: Run) -> None:
    """Show a run."""
    st.query_params[RUN] = run.name


def leave() -> None:
    """Show the form."""
    st.query_params.pop(RUN, None)
