"""Buttons that act on what the fields say in the run of the click.

Who types into a field and then clicks a button changes the field and clicks at once. A callback has the values that its
button was drawn with, those from before the change.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from explorer.ui.widgets import refused_clicks

_CLICKED = "_clicked"


def button(place: DeltaGenerator, label: str, act: Callable[[], object] | None, *, key: str, **look: Any) -> None:
    """A button that acts, keeps an error for `refused`, and draws the page anew; disabled if there is nothing to do."""
    place.button(label, key=key, disabled=act is None, on_click=_note, args=(key,), **look)
    if st.session_state.get(_CLICKED) == key:
        forget()
        if act is not None:
            refused_clicks.attempt(act)
            st.rerun()


def forget() -> None:
    """Forget a click whose button was not drawn: it must not act when it is there again."""
    st.session_state.pop(_CLICKED, None)


def _note(key: str) -> None:
    # the run of the click may start over before it comes to the button, which then no longer counts as clicked
    st.session_state[_CLICKED] = key
