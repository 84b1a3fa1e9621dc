"""What is searched for, and how many results are shown? Both stand in the address."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from explorer.measuring.neighbours.query_results import SIZES, asked

QUERY = "query"
# in the sample one thing asks for a parrot, others for a price: which comes first depends on the encoder
DEFAULT = "How much is that parrot, if I may ask?"
MOST = 5000  # characters, far more than an encoder reads


def query() -> str | None:
    """The query; None, and a word on it, where it is empty."""
    typed: str = st.text_area("Query", DEFAULT, height=68, max_chars=MOST, key=QUERY, bind="query-params")
    if not typed.strip():
        st.info("Type a sentence to look for.", icon=":material/edit:")
        return None
    return asked(typed)


def size(line: DeltaGenerator) -> int:
    """How many results each side shows."""
    k: int = line.segmented_control("Neighbours", SIZES, default=10, required=True, key="k", bind="query-params")
    return k


def choose(text: str) -> None:
    """Make a sentence the query; only in a callback."""
    st.session_state[QUERY] = text
