"""What the Train page shows, for pages that choose it: a run, kept in the address, or the form with text and method.

A reload and a second tab show the same run. A plan is found alike.
"""

from collections.abc import Callable, Sequence
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
SOURCES, METHOD = "data", "method"  # the names of the widgets, and of their parameters in the address
FILLED = "_text was set"
METHOD_BY_HAND = "_method by hand"  # whether the visitor has chosen the method, which then does not follow the text
ASKED_FOR_FILE = "_a file is asked for"  # whether the upload box of the form is open until there is a text
BY_HAND = "_dev and test by hand"  # the fields that the visitor has set, which keep their value


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


def choose_text(sources: Sequence[str]) -> None:
    """Set the training text; only in a callback."""
    st.session_state[SOURCES], st.session_state[FILLED] = list(sources), True


def ask_for_file() -> None:
    """Empty the text, open the upload box, and let the method follow the file; only in a callback."""
    choose_text(())
    st.session_state[ASKED_FOR_FILE], st.session_state[METHOD_BY_HAND] = True, False
    follow_text()


def follow_text() -> None:
    """Reset dev and test set to follow the text again; only in a callback."""
    st.session_state[BY_HAND] = set()
