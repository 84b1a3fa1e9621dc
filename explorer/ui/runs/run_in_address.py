"""Keep the shown run in the address, so that a reload and a second tab show the same; a plan is found alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import streamlit as st

from explorer.errors import RunNotFound
from explorer.training.record import runs
from explorer.training.record.runs import Run
from explorer.ui import messages

RUN = "run"
SEEN = "_run that was shown"
GONE = "{} is no longer there: it was renamed or deleted."
Shown = TypeVar("Shown")


def asked_for() -> Run | None:
    """The run that the address names; None if it names none, or a missing one (with an error)."""
    return shown_under(RUN, SEEN, runs.find, GONE)


def choose(run: Run) -> None:
    """Show a run."""
    st.query_params[RUN] = run.name


def leave() -> None:
    """Show the form."""
    st.query_params.pop(RUN, None)


def shown_under(key: str, seen: str, find: Callable[[str], Shown], gone: str) -> Shown | None:
    """What the address names under a key; None if it names nothing, or something missing (with an error).

    `seen` is the key in the session of what was shown last; `gone` tells that it was deleted since.
    """
    name = st.query_params.get(key)
    if name is None:
        return None
    try:
        found = find(name)
    except RunNotFound as error:
        if name == st.session_state.get(seen):  # since it was shown, here or in another tab
            st.query_params.pop(key, None)
            st.toast(gone.format(messages.plain(name)), icon=":material/delete:")
        else:
            messages.trouble(error)
        return None
    st.session_state[seen] = name
    return found
