"""State keys of the Train form that other pages may set: text, method, and whether method and sets follow the text."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

SOURCES, METHOD = "data", "method"  # the names of the widgets, and of their parameters in the address
FILLED = "_text was set"
METHOD_BY_HAND = "_method by hand"  # whether the visitor has chosen the method, which then does not follow the text
ASKED_FOR_FILE = "_a file is asked for"  # whether the upload box of the form is open until there is a text
BY_HAND = "_dev and test by hand"  # the fields that the visitor has set, which keep their value


def choose(sources: Sequence[str]) -> None:
    """Set the training text; only in a callback."""
    st.session_state[SOURCES], st.session_state[FILLED] = list(sources), True


def ask_for_file() -> None:
    """Empty the text, open the upload box, and let the method follow the file; only in a callback."""
    choose(())
    st.session_state[ASKED_FOR_FILE], st.session_state[METHOD_BY_HAND] = True, False
    follow_text()


def follow_text() -> None:
    """Reset dev and test set to follow the text again; only in a callback."""
    st.session_state[BY_HAND] = set()
