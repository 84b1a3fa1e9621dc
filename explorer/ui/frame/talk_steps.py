"""Open the views of a talk one after another: each as it was kept, whatever was clicked in between.

A view is opened as the browser's own Back and Forward open an address: what it does not name has its default again.
"""

import time

import streamlit as st

from explorer.errors import StrataError
from explorer.typed_numbers import whole_in
from explorer.ui.access.selection import PAIR, SENTENCES
from explorer.ui.frame import inside_streamlit, sidebar, talks
from explorer.ui.frame.page_list import PAGES
from explorer.ui.widgets import downloads, first_screen

TALK, VIEW = "talk", "talk_view"  # in the address; the number is from 1
OF_FRAME = (TALK, VIEW, downloads.PRESENTING)  # no part of a view
_TO, _UNDER_WAY, _OPENED = "_view to open", "_view that is being opened", "_view that was opened"
PAGE = "_page"  # in the session: the address of the open page
_QUICK = 1.0  # seconds
TRAIN = "train"  # the page whose form shows a run once it is started


def current() -> tuple[talks.Talk, int] | None:
    """The talk of the address and the number of its view; None outside of a talk, or if it cannot be read."""
    name = st.session_state.get(TALK) or ""
    try:
        talk = talks.read(name) if name else None
    except StrataError:  # `fault` says why
        return None
    return (talk, _number(st.session_state.get(VIEW), talk)) if talk is not None and talk.views else None


def view() -> talks.View | None:
    """The view of the talk that the visitor is at."""
    found = current()
    return found[0].views[found[1] - 1] if found else None


def place() -> str:
    """The talk with the number of its view, by which a page keeps what a view showed; "" outside of a talk."""
    found = current()
    return f"{found[0].name} {found[1]}" if found else ""


def fault() -> str:
    """Why the talk that the address names cannot be shown; "" if it can."""
    name = st.session_state.get(TALK) or ""
    try:
        return "" if not name or talks.read(name).views else f"The talk '{name}' has no views yet: add one to it."
    except StrataError as error:
        return str(error)


def shown() -> talks.View:
    """What the browser shows now, as a view; in a callback too, where the address is that of the click."""
    page = st.session_state[PAGE] or PAGES[0].name
    return talks.view_of(page, {key: value for key, value in inside_streamlit.address().items() if key not in OF_FRAME})


def is_at(view: talks.View) -> bool:
    """Whether the browser shows a view: its address may lack what is the default."""
    try:
        now = shown()
    except StrataError:
        return False
    same = (now.page, now.pair, now.sentences) == (view.page, view.pair, view.sentences)
    return same and now.address.items() <= view.address.items()


def shows_tab(view: talks.View) -> bool:
    """Whether a view is of an open tab: its line is about that, and not about the figure of the page."""
    return first_screen.TAB in view.address


def go(name: str, number: int) -> None:
    """Open a view of a talk in the next run; in a callback."""
    st.session_state[_TO] = name, number


def step(by: int) -> None:
    """Open a view before or after; in a callback. The second of two quick clicks goes on from the first.

    It may come before the browser has the number of the new view, and says the old one.
    """
    if found := current():
        talk, number = found
        to, when = st.session_state.get(_UNDER_WAY, (number, 0.0))
        go(talk.name, _number((to if time.monotonic() - when < _QUICK else number) + by, talk))


def leave() -> None:
    """End the talk, and stay on the page; in a callback."""
    st.session_state[TALK] = st.session_state[VIEW] = ""


def open_requested_view() -> None:
    """Open the view that the last click asked for, or the link that began this visit; in the frame, after the menu."""
    asked = st.session_state.pop(_TO, None)
    if asked is None and not st.session_state.get(_OPENED) and st.query_params.get(TALK):
        asked = st.query_params[TALK], st.query_params.get(VIEW)
    st.session_state[_OPENED] = True
    if asked is None:
        return
    try:
        talk = talks.read(asked[0])
        if not talk.views:
            return
        number = _number(asked[1], talk)
        view = talk.views[number - 1]
        query = view.query()
    except StrataError:  # `fault` says why
        return
    state = st.session_state
    state[_UNDER_WAY] = number, time.monotonic()
    for key in (*sidebar.KEPT, "model", PAIR, SENTENCES):
        state.pop(key, None)
    sidebar.set_by_hand("sts" in query)
    presented = state.get(downloads.PRESENTING, st.query_params.get(downloads.PRESENTING))
    shown = {downloads.PRESENTING: presented} if presented else {}
    path = "" if view.page == PAGES[0].name else view.page
    inside_streamlit.open_address(path, {**query, TALK: talk.name, VIEW: str(number), **shown})


def _number(given: object, talk: talks.Talk) -> int:
    return min(max(whole_in(str(given or 1)) or 1, 1), len(talk.views))
