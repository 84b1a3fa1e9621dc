"""The query box and the number of results; both are kept in the address."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from explorer.measuring.neighbours.query_results import SIZES, asked
from explorer.ui.widgets import segments

QUERY = "query"
# one sample sentence mentions a parrot, others ask for a price: the ranking depends on the encoder
DEFAULT = "How much is that parrot, if I may ask?"
LEFT_OUT = "The query is one of them, and is left out of what is found."
EMPTY = "Type a sentence to search for."
MOST = 5000  # characters, far more than an encoder's maximum length


def query() -> str | None:
    """The query; None, with a message, if it is empty."""
    typed: str = st.text_area("Query", DEFAULT, height=68, max_chars=MOST, key=QUERY, bind="query-params")
    if not typed.strip():
        st.info(EMPTY, icon=":material/edit:")
        return None
    return asked(typed)


def size(line: DeltaGenerator) -> int:
    """The number of results of each side."""
    with line:
        k: int = segments.chosen("Results", SIZES, default=10, key="k")
    return k


def choose(text: str) -> None:
    """Make a sentence the query; only in a callback."""
    st.session_state[QUERY] = text
