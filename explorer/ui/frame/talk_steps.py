"""Open the views of a talk one after another: each as it was kept, whatever was clicked in between.

A view is opened as the browser's own Back and Forward open an address: what it does not name has its default again.
"""

import time
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlencode

import streamlit as st
from streamlit.runtime.scriptrunner import RerunException, get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData

from explorer.errors import StrataError
from explorer.knobs import whole_in
from explorer.ui.access.selection import PAIR, SENTENCES
from explorer.ui.frame import sidebar, talks
from explorer.ui.frame.page_list import PAGES
from explorer.ui.widgets import downloads

TALK, VIEW = "talk", "talk_view"  # in the address; the number is from 1
OF_FRAME = (TALK, VIEW, downloads.PRESENTING)  # no part of a view
_TO, _UNDER_WAY, _OPENED = "_view to open", "_view that is being opened", "_view that was opened"
PAGE = "_page"  # in the session: the address of the open page
_QUICK = 1.0  # seconds
_DELIVERED = 0.05  # seconds until the browser has its new address: a run that starts over discards what was not sent


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
    return talks.view_of(page, {key: value for key, value in _address().items() if key not in OF_FRAME})


def is_at(view: talks.View) -> bool:
    """Whether the browser shows a view: its address may lack what is the default."""
    try:
        now = shown()
    except StrataError:
        return False
    same = (now.page, now.pair, now.sentences) == (view.page, view.pair, view.sentences)
    return same and now.address.items() <= view.address.items()


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


def go_on() -> None:
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
    _open(view.page, {**query, TALK: talk.name, VIEW: str(number), **shown})


def _number(given: object, talk: talks.Talk) -> int:
    return min(max(whole_in(str(given or 1)) or 1, 1), len(talk.views))


def _address() -> dict[str, str]:
    """What the browser's address said when it asked for this run."""
    context = get_script_run_ctx()
    return dict(parse_qsl(context.query_string if context else ""))


def _open(page: str, query: Mapping[str, str]) -> None:
    """Start over on a page, as with the browser's Back: the address alone says what fields hold.

    `st.switch_page` refuses parameters that fields of the sidebar are bound to.
    """
    context = get_script_run_ctx()
    assert context is not None
    address = urlencode(query)
    path = "" if page == PAGES[0].name else page
    pages = context.pages_manager.get_pages().values()
    place = next(one["page_script_hash"] for one in pages if one["url_pathname"] == path)
    with context.session_state.query_params() as known:
        for widget in list(known._bindings_by_widget):  # it would drop `tab` if the page that is left has one too
            known.unbind_widget(widget)
        known.populate_from_query_string(address)
        known.set_initial_query_params_from_current()
        known._send_query_param_msg()
    time.sleep(_DELIVERED)
    raise RerunException(
        RerunData(
            query_string=address,
            page_script_hash=place,
            is_history_navigation=True,
            cached_message_hashes=context.cached_message_hashes,
            context_info=context.context_info,
        )
    )
