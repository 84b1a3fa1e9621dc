"""Choose model B, which is compared with the sidebar's model A, and its layer & pooling; the address keeps both."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from explorer.encoding.read.readings import MODEL_DEFAULT, Reading
from explorer.errors import StrataError
from explorer.ui.access import cached, sidebar_choice
from explorer.ui.access.sidebar_choice import Choice
from explorer.ui.frame import sidebar

NOTHING = "nothing"
SAME = "same as A"


def control(choice: Choice) -> None:
    """Choose B, and remember it for `beside`; a key exchanges the two."""
    st.session_state["_beside"] = None
    others = [name for name in sidebar.encoders() if name != choice.source]
    source: str = st.selectbox(
        sidebar_choice.MODEL_B,
        sidebar.with_current([NOTHING, *others, choice.source], "beside"),
        key="beside",
        bind="query-params",
        accept_new_options=True,
        help="A second model, B, that is compared with model A on every page that shows two. Choose one, or type a hub "
        "id or a folder. A run's model is called `run:` and the run's name. Choose model A again, with another layer & "
        "pooling, to see what those change.",
    )
    if source == NOTHING:
        return
    sidebar.tell_whole(source)
    sidebar.offer_inside(source, "B", choose)
    reading = _reading(source, choice)
    st.button(
        "Exchange A and B",
        key="exchange A and B",
        icon=":material/swap_horiz:",
        on_click=exchange,
        args=(choice, source, reading),
        shortcut="x",
        help="Or press x.",
    )
    st.session_state["_beside"] = replace(choice, source=source, reading=reading)


def none() -> None:
    """No B on this page; the controls keep their values."""
    st.session_state["_beside"] = None


def beside() -> Choice | None:
    """What the sidebar says of B; None where there is none."""
    found: Choice | None = st.session_state["_beside"]
    return found


def choose(source: str, reading: str | None = None) -> None:
    """Make an encoder B; only in a callback."""
    st.session_state["beside"] = source
    st.session_state["beside_reading"] = reading or SAME


def choose_reading(reading: Reading) -> None:
    """Set B's layer & pooling; only in a callback."""
    st.session_state["beside_reading"] = reading.title


def choose_each_default() -> None:
    """Give A and B the model default of each; only in a callback."""
    st.session_state["reading"] = MODEL_DEFAULT
    st.session_state["beside_reading"] = SAME


def choose_same(title: str) -> None:
    """Give A and B one layer & pooling; only in a callback."""
    st.session_state["reading"] = title
    st.session_state["beside_reading"] = SAME


def _reading(source: str, choice: Choice) -> str | None:
    """B's layer & pooling: A's choice, where B has it, unless another is chosen."""
    try:
        folder = cached.found(source).folder
        titles = sidebar_choice.titles(folder)
    except StrataError:
        return None  # the page says what is wrong with the encoder, at length
    # where A has its model default, "same as A" gives B its own model default
    both_have_it = choice.reading is not None and sidebar_choice.exists(choice.reading, folder)
    title = sidebar.layer_and_pooling(
        "Layer & pooling of B",
        [*[SAME] * both_have_it, *titles],
        folder,
        "beside_reading",
        "How B makes one vector of a sentence. **same as A**: the same layer & pooling, and where A has its model "
        f"default, the model default of B. {sidebar.TYPED}",
    )
    reading = choice.reading if title == SAME else title
    sidebar.tell_default(reading, folder)
    return reading


def exchange(choice: Choice, source: str, reading: str | None) -> None:
    """Make B, with its layer & pooling, model A, and A model B; only in a callback."""
    state = st.session_state
    state["model"], state["beside"] = source, choice.source
    if reading is not None:
        state["reading"] = reading
    state["beside_reading"] = choice.reading if choice.reading and choice.reading != reading else SAME
