"""What stands beside the encoder of the sidebar? B, to A, with a reading of its own; the address remembers both."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from explorer.errors import StrataError
from explorer.ui import cached, controls
from explorer.ui.controls import Choice

NOTHING = "nothing"
SAME = "the same reading"
_PARTNERS = (("model", "beside"), ("reading", "beside_reading"))


def control(choice: Choice) -> None:
    """Choose B, and remember it for `beside`; a key exchanges the two."""
    st.session_state["_beside"] = None
    others = [name for name in controls.encoders() if name != choice.source]
    source: str = st.selectbox(
        "Beside it",
        controls.with_current([NOTHING, *others, choice.source], "beside"),
        key="beside",
        bind="query-params",
        accept_new_options=True,
        help="Another encoder, B, that is compared with the one above, A: on the Compare page and wherever two are "
        "shown. Choose one, or type a hub id or a folder. A run's model is called `run:` and the run's name. The same "
        "encoder under another reading shows what a layer or a pooling changes.",
    )
    if source == NOTHING:
        return
    reading = _reading(source, choice)
    st.button(
        "Exchange A and B",
        icon=":material/swap_horiz:",
        on_click=_exchange,
        args=(choice, source, reading),
        shortcut="x",
        help="Or press x.",
    )
    st.session_state["_beside"] = replace(choice, source=source, reading=reading)


def beside() -> Choice | None:
    """What the sidebar says of B; None where there is none."""
    found: Choice | None = st.session_state["_beside"]
    return found


def choose(source: str, reading: str | None = None) -> None:
    """Make an encoder B; only in a callback."""
    st.session_state["beside"] = source
    st.session_state["beside_reading"] = reading or SAME


def _reading(source: str, choice: Choice) -> str | None:
    """B's reading: A's, where B has it, unless another is chosen."""
    try:
        titles = controls.titles(cached.found(source).folder)
    except StrataError:
        return None  # the page says what is wrong with the encoder, at length
    options = [*[SAME] * (choice.reading in titles), *titles]
    if st.session_state.get("beside_reading") not in options:
        st.session_state.pop("beside_reading", None)  # another encoder has fewer layers
    title: str = st.selectbox(
        "Its reading",
        options,
        key="beside_reading",
        bind="query-params",
        help="Which layer of B, under which pooling, stands for a sentence.",
    )
    return choice.reading if title == SAME else title


def _exchange(choice: Choice, source: str, reading: str | None) -> None:
    state = st.session_state
    state["model"], state["beside"] = source, choice.source
    if reading is not None:
        state["reading"] = reading
    state["beside_reading"] = choice.reading if choice.reading and choice.reading != reading else SAME
