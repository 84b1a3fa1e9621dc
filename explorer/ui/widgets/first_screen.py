"""The order of a page: a sentence that answers its question, one figure that shows it, then tabs of which one is open.

`tests/ui/frame/test_first_screen.py` measures that the answer and the figure of every page are on the first screen.
"""

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from explorer.ui.widgets import controls

ANSWER, FIGURE, CONTROLS = "answer", "figure", "controls"
TAB = "tab"  # the key of the open one, which is in the address


def answer() -> DeltaGenerator:
    """The place of the sentence that answers the question of the page, with its number and its doubt."""
    return st.container(key=ANSWER, gap="small")


def controls_row() -> DeltaGenerator:
    """The place of the controls that are used every time, in one row; the rest is in `settings`."""
    return st.container(key=CONTROLS, horizontal=True, vertical_alignment="bottom", gap="small")


def settings(label: str = "Settings") -> DeltaGenerator:
    """The button that opens what is set rarely."""
    return st.popover(label, icon=":material/tune:")


def figure() -> DeltaGenerator:
    """The place of the figure that shows the answer, or of those of A and B side by side."""
    return st.container(key=FIGURE, gap="small")


def panes(names: Sequence[str]) -> tuple[str, dict[str, DeltaGenerator]]:
    """The open tab, and the places of all: every field is drawn, to keep what was typed; others are hidden."""
    chosen, found = tabs(names), {}
    for number, name in enumerate(names):
        key = f"pane-{number}"
        found[name] = st.container(key=key)
        if name != chosen:
            found[name].html(f"<style>.st-key-{key} {{ display: none; }}</style>")
    return chosen, found


def tabs(names: Sequence[str]) -> str:
    """The open tab, which is in the address; the page computes and draws that one alone."""
    chosen: str = controls.segments(
        "Show", list(names), default=names[0], key=TAB, label_visibility="collapsed", width="stretch"
    )
    return chosen
