"""What has the visitor chosen? Widgets of the sidebar, bound to the address, become one frozen Choice."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from explorer.data.graded import sets
from explorer.data.kinds import GradedPairs
from explorer.encoding.load import declared
from explorer.encoding.load.hardware import PRECISIONS
from explorer.encoding.locate import bundled, hub, layout, model_names
from explorer.encoding.locate.model_names import Found
from explorer.encoding.read.readings import OWN, Reading, readings
from explorer.errors import StrataError
from explorer.measuring.scores.measure import Settings
from explorer.ui.access import cached, cached_text
from explorer.ui.widgets import messages

ANOTHER = "another encoder"


@dataclass(frozen=True)
class Choice:
    """An encoder, a set of graded pairs, how to measure, and the title of the layer & pooling."""

    source: str
    sts: str
    reading: str | None
    settings: Settings

    def found(self) -> Found:
        """The encoder's folder."""
        return cached.found(self.source)

    def pairs(self) -> GradedPairs:
        """The graded pairs."""
        return cached_text.graded_pairs(self.sts)

    def reading_of(self, folder: Path) -> Reading:
        """The layer & pooling, in the encoder of that folder."""
        return declared.named(self.reading, folder)


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


def chosen() -> Choice:
    """What the sidebar says."""
    choice: Choice = st.session_state["_choice"]
    return choice


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


def titles(folder: Path) -> list[str]:
    """Every layer & pooling; the model default leads, and is not written into the address."""
    return [OWN.title, *(one.title for one in sorted(readings(layout.last_layer(folder)), key=_most_used_first))]


def _most_used_first(reading: Reading) -> tuple[int, int, int]:
    """The mean of the last layer first."""
    return len(reading.row.layers), -reading.row.layers[0], ("mean", "cls", "max").index(reading.pooling)


def with_current(options: list[str], key: str) -> list[str]:
    """Options, and what is chosen already if it is not among them: a link may name anything."""
    current = st.session_state.get(key) or st.query_params.get(key)
    return options if current is None or current in options else [*options, current]
