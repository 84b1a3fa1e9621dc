"""Presentation mode: larger type and no sidebar, on and off by one key."""

from __future__ import annotations

import streamlit as st

from explorer.ui.widgets.picture_format import PRESENTING

KEY = "p"
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
    if st.session_state.get(PRESENTING):
        st.html(_LOOK)


def _turn() -> None:
    st.session_state[PRESENTING] = not st.session_state.get(PRESENTING, False)
