"""Presentation mode: larger type and no sidebar, on and off by one key."""

from __future__ import annotations

import streamlit as st

KEY = "p"
TEXT = 1.5
_ON = "_presenting"
_LOOK = """<style>
html { font-size: 21px !important; }
[data-testid="stSidebar"], [data-testid="stExpandSidebarButton"], [data-testid="stHeader"] { display: none; }
[data-testid="stMainBlockContainer"] { max-width: 100%; }
</style>"""


def control() -> None:
    """The button; it is there, unseen, while the mode is on, so that the key ends it."""
    st.button(
        "Presentation mode",
        icon=":material/present_to_all:",
        on_click=_turn,
        shortcut=KEY,
        key="presentation",
        help=f"Larger type, no sidebar. Press {KEY} to start and to end it.",
    )


def look() -> None:
    """The look of a page while the mode is on."""
    if st.session_state.get(_ON):
        st.html(_LOOK)


def text_scale() -> float:
    """How many times larger than usual the text of figures is."""
    return TEXT if st.session_state.get(_ON) else 1.0


def _turn() -> None:
    st.session_state[_ON] = not st.session_state.get(_ON, False)
