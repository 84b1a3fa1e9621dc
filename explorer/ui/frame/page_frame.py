"""What stands round every page: the menu, the sidebar, and the guard for links that open a page first."""

from __future__ import annotations

import importlib
from pathlib import Path

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from explorer.ui.access import sidebar_choice
from explorer.ui.frame import second_encoder, sidebar, training_line
from explorer.ui.widgets import picture_format

# a file, not a `:material/…:` name: for that the browser would ask a server on the network
ICON = Path(__file__).parent / "icon.svg"

# file, title, icon, whether it opens first; a page's address is its file name
PAGES = (
    ("pages/start.py", "Start", ":material/home:", True),
    ("pages/layers.py", "Layers", ":material/layers:", False),
    ("pages/layer_attention.py", "Layer attention", ":material/hearing:", False),
    ("pages/compare.py", "Compare", ":material/compare_arrows:", False),
    ("pages/sentences.py", "Sentences", ":material/notes:", False),
    ("pages/map.py", "Map", ":material/scatter_plot:", False),
    ("pages/search.py", "Search", ":material/search:", False),
    ("pages/replay.py", "Replay", ":material/replay:", False),
    ("pages/train.py", "Train", ":material/model_training:", False),
)


def run() -> None:
    """All of app.py: the page that was asked for, inside the frame."""
    page = _opened()
    st.session_state["_frame"] = True
    with st.sidebar:
        with sidebar.sidebar():
            second_encoder.control(sidebar_choice.chosen())
        picture_format.control()
        training_line.line()
    page.run()


def enter() -> None:
    """First statement of every page.

    Until some visitor of this process has opened the menu, Streamlit runs a page that is asked for by its
    address in place of app.py. Opening the menu here and starting over puts the frame round it.
    """
    if not st.session_state.pop("_frame", False):  # set anew by every run of app.py
        _opened()
        st.rerun()


def _opened() -> StreamlitPage:
    # before any thread does: plotly takes a pandas that is imported by half for a whole one, and fails
    importlib.import_module("pandas")
    st.set_page_config(page_title="Strata", page_icon=str(ICON), layout="wide")
    return st.navigation([st.Page(file, title=title, icon=icon, default=first) for file, title, icon, first in PAGES])
