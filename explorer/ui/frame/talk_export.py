"""Write a talk as one HTML file without a server: the answer and the figures of each view, as they were shown.

What a page shows is on the server only while it is sent to the browser. So the answer and figures of a view are noted
when a visitor is at it, and a view that this session has not shown is named without them.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict

import streamlit as st
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.state.common import user_key_from_element_id

from explorer.drawing import sections_page
from explorer.drawing.sections_page import Shown
from explorer.ui.frame import talk_steps, talks
from explorer.ui.frame.page_list import named
from explorer.ui.widgets import first_screen

_SHOWN = "_what views of talks have shown"
_SENT = {"markdown": "body", "alert": "body", "heading": "body"}  # elements with text that an answer is made of


@contextmanager
def noting() -> Iterator[None]:
    """Note the answer and the figures that the page sends to the browser, if it is a view of a talk as kept."""
    context, view = get_script_run_ctx(suppress_warning=True), talk_steps.view()
    if context is None or view is None or not talk_steps.is_at(view):
        yield
        return
    places: dict[str, tuple[int, ...]] = {}
    texts: list[str] = []
    figures: list[str] = []
    kinds = set()
    # What the browser has already is sent as a reference: only here it is whole. Streamlit has no public place for it,
    # so its method is exchanged while the page runs, which mypy does not allow.
    send = context.enqueue

    def noted(message: ForwardMsg) -> None:
        send(message)
        delta, path = message.delta, tuple(message.metadata.delta_path)
        if delta.HasField("add_block") and (key := user_key_from_element_id(delta.add_block.id)):
            places[key] = path
        element = delta.new_element
        kind = element.WhichOneof("type") if delta.HasField("new_element") else None
        kinds.add(kind)
        if kind in _SENT and _inside(path, places.get(first_screen.ANSWER)):
            texts.append(getattr(getattr(element, kind), _SENT[kind]))
        if kind == "plotly_chart" and _inside(path, places.get(first_screen.FIGURE)):
            figures.append(element.plotly_chart.spec)

    context.enqueue = noted  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        context.enqueue = send  # type: ignore[method-assign]
        if (figures or texts) and "progress" not in kinds:  # else it is still computed
            shown = Shown("\n".join(texts), tuple(figures), st.context.theme.type or "light")
            st.session_state.setdefault(_SHOWN, {})[_key(view)] = shown


def _inside(path: Sequence[int], place: Sequence[int] | None) -> bool:
    return place is not None and tuple(path[: len(place)]) == tuple(place)


def _key(view: talks.View) -> str:
    stated = asdict(view) | {"text": ""}  # its line may be edited
    return json.dumps(stated, sort_keys=True)


def not_shown(talk: talks.Talk) -> list[str]:
    """The views whose figures this session has not drawn, by number and page."""
    shown = st.session_state.get(_SHOWN, {})
    return [_title(number, view) for number, view in enumerate(talk.views, start=1) if _key(view) not in shown]


def sections(talk: talks.Talk) -> list[sections_page.Section]:
    """What the file of a talk holds; in a run of a page, since a download itself knows of no visit."""
    known: dict[str, Shown] = st.session_state.get(_SHOWN, {})
    views = enumerate(talk.views, start=1)
    return [sections_page.Section(_title(number, view), view.text, known.get(_key(view))) for number, view in views]


def _title(number: int, view: talks.View) -> str:
    return f"{number}. {named(view.page).title}"
