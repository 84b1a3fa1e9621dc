"""State keys of the Train form that other pages may set: text, method, and whether its sets follow the text."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

SOURCES = "data"  # the widget's name, and that of its parameter in the address


FILLED = "_text was set"


def choose(sources: Sequence[str]) -> None:
    """Set the training text; only in a callback."""
    st.session_state[SOURCES], st.session_state[FILLED] = list(sources), True


METHOD = "method"  # the widget's name, and that of its parameter in the address


BY_HAND = "_dev and test by hand"  # the fields that the visitor has set, which keep their value


def follow_text() -> None:
    """Reset dev and test set to follow the text again; only in a callback."""
    st.session_state[BY_HAND] = set()
