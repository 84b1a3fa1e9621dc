"""Handle clicks: of buttons that act on what the fields say by then, of acts that may be refused, and in grids.

Who types into a field and then clicks a button changes the field and clicks at once. A callback has the values that its
button was drawn with, those from before the change. Only for the page itself: a fragment runs without `page_run`.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.scriptrunner import RerunException

from explorer.encoding.read.pooling import OWN, Reading
from explorer.errors import StrataError
from explorer.measuring.scores.layer_scores import LayerScores
from explorer.ui import messages

_NOTED, _CLICKED = "_click that was noted", "_click of this run"
REFUSED = "_refused"


@contextmanager
def page_run() -> Iterator[None]:
    """A run of a page in which the button that was clicked acts, once.

    Whether it ends, is stopped or fails: a click whose button it did not draw is forgotten, and does not act when the
    button is there again. A run that starts over leaves its click to the next one.
    """
    st.session_state[_CLICKED] = st.session_state.pop(_NOTED, None)
    try:
        yield
    except RerunException:
        st.session_state[_NOTED] = st.session_state[_CLICKED]
        raise


def button(place: DeltaGenerator, label: str, act: Callable[[], object] | None, *, key: str, **style: Any) -> None:
    """A button that acts, keeps an error for `refused`, and draws the page anew; disabled if there is nothing to do."""
    place.button(label, key=key, disabled=act is None, on_click=_note, args=(key,), **style)
    if st.session_state.get(_CLICKED) == key:
        st.session_state[_CLICKED] = None
        if act is not None:
            attempt(act)
            st.rerun()


def _note(key: str) -> None:
    # the run of the click may start over before it comes to the button, which then no longer counts as clicked
    st.session_state[_NOTED] = key


def attempt(act: Callable[[], object]) -> None:
    """Call `act`; keep its error for `refused`, since it is called where nothing can be shown yet."""
    try:
        act()
    except StrataError as error:
        st.session_state[REFUSED] = str(error)


def refused() -> None:
    """Show the error of the last click, once."""
    if REFUSED in st.session_state:
        messages.trouble(st.session_state.pop(REFUSED))


def clicked_place(key: str) -> int | None:
    """The number of the clicked cell, for the callback of the figure `key`; None if the click cleared it."""
    points = st.session_state[key]["selection"]["points"]
    return int(points[0]["customdata"]) if points else None


def clicked_cell(key: str, scores: LayerScores) -> Reading | None:
    """The layer & pooling of the clicked cell of a grid; None if the click cleared it."""
    place = clicked_place(key)
    return None if place is None else (*scores.grid, OWN)[place]
