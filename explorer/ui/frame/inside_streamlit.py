"""Do what Streamlit has no public way for: open an address as a whole, and read what a page sends to the browser.

`tests/ui/frame/test_inside_streamlit.py` fails with a version of Streamlit in which one of them is another.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

import streamlit
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.scriptrunner import RerunException, get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData
from streamlit.runtime.state.common import user_key_from_element_id

_DELIVERED = 0.05  # seconds until the browser has its new address: a run that starts over discards what was not sent


def address() -> dict[str, str]:
    """What the browser's address said when it asked for this run; in a callback too, where it is that of the click."""
    context = get_script_run_ctx(suppress_warning=True)
    return dict(parse_qsl(context.query_string if context else ""))


def open_address(path: str, query: Mapping[str, str]) -> None:
    """Start over on a page, as with the browser's Back: the address alone says what fields hold.

    `st.switch_page` and `st.query_params` refuse parameters that fields are bound to, which nearly all of a view are.
    Setting the fields in the session in place of them needs the type of each, which only the page knows.
    """
    context = get_script_run_ctx()
    assert context is not None
    asked = urlencode(query)
    pages = context.pages_manager.get_pages().values()
    place = next(one["page_script_hash"] for one in pages if one["url_pathname"] == path)
    with context.session_state.query_params() as known:
        for widget in list(known._bindings_by_widget):  # it would drop `tab` if the page that is left has one too
            known.unbind_widget(widget)
        known.populate_from_query_string(asked)
        known.set_initial_query_params_from_current()
        known._send_query_param_msg()
    time.sleep(_DELIVERED)
    raise RerunException(
        RerunData(
            query_string=asked,
            page_script_hash=place,
            is_history_navigation=True,
            cached_message_hashes=context.cached_message_hashes,
            context_info=context.context_info,
        )
    )


@contextmanager
def sent(note: Callable[[ForwardMsg], None]) -> Iterator[None]:
    """Call `note` with each message that the page sends to the browser, in this run.

    What the browser has already is sent as a reference: only here it is whole. So the method that sends is exchanged
    while the page runs, which mypy does not allow.
    """
    context = get_script_run_ctx(suppress_warning=True)
    if context is None:
        yield
        return
    send = context.enqueue

    def noted(message: ForwardMsg) -> None:
        send(message)
        note(message)

    context.enqueue = noted  # type: ignore[method-assign, assignment]  # Streamlit has no hook for it
    try:
        yield
    finally:
        context.enqueue = send  # type: ignore[method-assign]  # as it was


def font() -> bytes | None:
    """The font of all pages, as WOFF2; None if this version of Streamlit ships another one."""
    found = sorted((Path(streamlit.__file__).parent / "static").rglob("SourceSans*Upright*.woff2"))
    return found[0].read_bytes() if found else None


def key_of(identity: str) -> str:
    """The key that the code has given to an element or a container; "" without one."""
    return (user_key_from_element_id(identity) if identity else None) or ""
