"""What has the visitor chosen? Widgets of the sidebar, bound to the address, become one frozen Choice."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from explorer.data.graded import sets
from explorer.encoding.load import declared
from explorer.encoding.load.hardware import PRECISIONS
from explorer.encoding.locate import bundled, hub, model_names
from explorer.encoding.read.readings import Reading
from explorer.errors import StrataError
from explorer.measuring.scores.measure import Settings
from explorer.ui import messages
from explorer.ui.access import cached
from explorer.ui.access.sidebar_choice import Choice, titles

ANOTHER = "another encoder"


def sidebar() -> DeltaGenerator:
    """Draw the controls that every page shares, and remember what they say for `chosen`; gives the place for B's."""
    source: str = st.selectbox(
        "Encoder",
        with_current(encoders(), "model"),
        key="model",
        bind="query-params",
        help="Encoders on this disk, and what you named below.",
    )
    st.text_input(
        "Another encoder",
        key=ANOTHER,
        on_change=_choose_another,
        placeholder="hub id or folder",
        help="A hub id (`org/name` or `org/name@revision`), its link, or a folder as saved by transformers, "
        "sentence-transformers or SimCSE. Nothing is fetched from the hub before you say so.",
    )
    pairs: str = st.selectbox(
        "Graded pairs",
        with_current(list(sets.names()), "sts"),
        key="sts",
        bind="query-params",
        help="Sentence pairs that people have graded. Bring your own on the Start page.",
    )
    reading = _reading_control(source)
    beside = st.container()
    with st.expander("How to measure", icon=":material/tune:"):
        precision = st.radio(
            "Precision",
            PRECISIONS,
            key="precision",
            bind="query-params",
            help="auto: bfloat16 where this machine's processor or GPU computes in it, else float32.",
        )
        max_length = st.number_input(
            "Longest sentence, in tokens",
            min_value=3,
            value=None,
            key="max_length",
            bind="query-params",
            placeholder="the encoder's own limit",
            help="3 or more. Longer sentences are cut, and counted.",
        )
    settings = Settings(precision, "auto", max_length)
    st.session_state["_choice"] = Choice(source, pairs, reading, settings)
    return beside


def choose_reading(reading: Reading) -> None:
    """Set the layer & pooling of every page; only before the sidebar is drawn (in a callback)."""
    st.session_state["reading"] = reading.title


def choose_encoder(name: str) -> None:
    """Make an encoder the one of every page; only in a callback."""
    st.session_state["model"] = name


def choose_set(name: str) -> None:
    """Make a set the one of every page; only in a callback."""
    st.session_state["sts"] = name


def encoders() -> list[str]:
    """Encoders on this disk: the bundled one, the models of runs, then what the hub's cache holds."""
    return [bundled.NAME, *model_names.of_runs(), *hub.on_disk()]


def _choose_another() -> None:
    typed = st.session_state[ANOTHER].strip()
    if typed:
        choose_encoder(typed)
        st.session_state[ANOTHER] = ""


def _reading_control(source: str) -> str | None:
    """Choose layer & pooling by keyboard; without a loadable encoder there is none to choose from."""
    try:
        known = titles(cached.found(source).folder)
    except StrataError:
        return None  # the page says what is wrong with the encoder, at length
    if st.session_state.get("reading") not in known:
        st.session_state.pop("reading", None)  # another encoder has fewer layers
    title: str = st.selectbox(
        "Layer & pooling",
        known,
        key="reading",
        bind="query-params",
        help="How a sentence becomes one vector, on every page. **model default** is the pooling that the model itself "
        "declares (in modules.json): what you get from `SentenceTransformer(model).encode`. A model that declares none "
        "is pooled by the mean of its last layer, as sentence-transformers does. To choose any other layer & pooling, "
        "click a cell of the grid on the Layers page, or choose here.",
    )
    folder = cached.found(source).folder
    if declared.named(title, folder) == declared.default(folder):
        st.caption(messages.plain(declared.described(declared.default(folder), folder)))
    return title


def with_current(options: list[str], key: str) -> list[str]:
    """Options, and what is chosen already if it is not among them: a link may name anything."""
    current = st.session_state.get(key) or st.query_params.get(key)
    return options if current is None or current in options else [*options, current]
