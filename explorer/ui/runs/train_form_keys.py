"""What other pages may set in the form of the Train page: its text, its method, whether its sets follow the text."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

SOURCES = "data"  # the widget's name, and that of its parameter in the address


FILLED = "_text was set"


def choose(sources: Sequence[str]) -> None:
    """Make this the text; only in a callback."""
    st.session_state[SOURCES], st.session_state[FILLED] = list(sources), True


METHOD = "method"  # the widget's name, and that of its parameter in the address


BY_HAND = "_dev and test by hand"  # the fields that the visitor has set, which keep what they say


def follow_text() -> None:
    """Let dev and test set follow the text again, as before they were set by hand; only in a callback."""
    st.session_state[BY_HAND] = set()
