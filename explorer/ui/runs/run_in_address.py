"""Keep the shown run in the address, so that a reload and a second tab show the same run."""

from __future__ import annotations

import streamlit as st

from explorer.training.record import runs
from explorer.training.record.runs import Run
from explorer.ui.runs import shown_in_address

RUN = "run"
SEEN = "_run that was shown"
GONE = "{} is no longer there: it was renamed or deleted."


def asked_for() -> Run | None:
    """The run that the address names; None if it names none, or a missing one (with an error)."""
    return shown_in_address.asked_for(RUN, SEEN, runs.find, GONE)


def choose(run: Run) -> None:
    """Show a run."""
    st.query_params[RUN] = run.name


def leave() -> None:
    """Show the form."""
    st.query_params.pop(RUN, None)
