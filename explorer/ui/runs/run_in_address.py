"""Keep the shown run in the address, so that a reload and a second tab show the same run."""

from __future__ import annotations

import streamlit as st

from explorer.errors import RunNotFound
from explorer.training.record import runs
from explorer.training.record.runs import Run
from explorer.ui import messages

RUN = "run"
SEEN = "_run that was shown"
GONE = "{} is no longer there: it was renamed or deleted."


def asked_for() -> Run | None:
    """The run that the address names; None if it names none, or a missing one (with an error)."""
    name = st.query_params.get(RUN)
    if name is None:
        return None
    try:
        run = runs.find(name)
    except RunNotFound as error:
        if name == st.session_state.get(SEEN):  # since it was shown, here or in another tab
            leave()
            st.toast(GONE.format(messages.plain(name)), icon=":material/delete:")
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
