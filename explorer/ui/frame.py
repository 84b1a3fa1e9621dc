"""What stands round every page: the menu, the sidebar, and the guard for links that open a page first."""

from __future__ import annotations

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from explorer.ui import controls

# file, title, icon, whether it opens first; a page's address is its file name
PAGES = (
    ("pages/start.py", "Start", ":material/home:", True),
    ("pages/layers.py", "Layers", ":material/layers:", False),
)


def run() -> None:
    """All of app.py: the page that was asked for, inside the frame."""
    st.set_page_config(page_title="Strata", page_icon=":material/layers:", layout="wide")
    st.session_state["_frame"] = True
    page = _menu()
    with st.sidebar:
        controls.sidebar()
    page.run()


def enter() -> None:
    """First statement of every page.

    Until some visitor of this process has opened the menu, Streamlit runs a page that is asked for by its
    address in place of app.py. Opening the menu here and starting over puts the frame round it.
    """
    if "_frame" not in st.session_state:
        _menu()
        st.rerun()


def _menu() -> StreamlitPage:
    return st.navigation([st.Page(file, title=title, icon=icon, default=first) for file, title, icon, first in PAGES])
