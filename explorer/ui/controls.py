"""What has the visitor chosen? Widgets of the sidebar, bound to the address, become one frozen Choice."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from explorer.data import own, sts
from explorer.data.kinds import GradedPairs
from explorer.encoding import bundled, finding
from explorer.encoding.finding import Found
from explorer.encoding.readings import Reading, parse, readings
from explorer.errors import StrataError
from explorer.measuring.measured import Settings
from explorer.ui import cached

PRECISIONS = ("auto", "bfloat16", "float32")


@dataclass(frozen=True)
class Choice:
    """An encoder, a set of graded pairs, how to measure, and the reading that stands for a sentence."""

    source: str
    revision: str | None
    sts: str
    reading: str | None
    settings: Settings

    def found(self) -> Found:
        """The encoder's folder."""
        return cached.found(self.source, self.revision)

    def pairs(self) -> GradedPairs:
        """The graded pairs."""
        return cached.graded_pairs(self.sts)

    def reading_of(self, last: int) -> Reading:
        """The reading, in an encoder whose last layer is `last`."""
        return parse(self.reading or f"mean of layer {last}", last)


def sidebar() -> None:
    """Draw the controls that every page shares, and remember what they say for `chosen`."""
    source = st.selectbox(
        "Encoder",
        _with_current(encoders(), "model"),
        key="model",
        accept_new_options=True,
        bind="query-params",
        help="Choose one, or type a hub id (`org/name`, or `org/name@revision`) or a folder on this machine.",
    )
    pairs = st.selectbox(
        "Graded pairs",
        _with_current(graded_sets(), "sts"),
        key="sts",
        bind="query-params",
        help="Sentence pairs that people have graded. Bring your own on the Start page.",
    )
    name, revision = split_revision(source or bundled.NAME)
    reading = _reading_control(name, revision)
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
            help="Longer sentences are cut, and counted.",
        )
    settings = Settings(precision, "auto", max_length)
    st.session_state["_choice"] = Choice(name, revision, pairs or cached.SAMPLE, reading, settings)


def chosen() -> Choice:
    """What the sidebar says."""
    choice: Choice = st.session_state["_choice"]
    return choice


def choose_reading(reading: Reading) -> None:
    """Make a reading the one that is used on every page; only before the sidebar is drawn (in a callback)."""
    st.session_state["reading"] = reading.title


def encoders() -> list[str]:
    """Encoders on this disk: the bundled one, then what the hub's cache holds."""
    return [bundled.NAME, *finding.on_disk()]


def graded_sets() -> list[str]:
    """Sets by name: the sample, files the user brought, then the published ones."""
    return [cached.SAMPLE, *own.names(), *sts.menu()]


def split_revision(text: str) -> tuple[str, str | None]:
    """`org/name@revision` in its two parts; a folder keeps its @."""
    text = text.strip()
    name, _, revision = text.partition("@")
    if not revision or Path(text).expanduser().exists():
        return text, None
    return name, revision


def _reading_control(name: str, revision: str | None) -> str | None:
    """Choose a reading by keyboard; without a loadable encoder there is none to choose from."""
    try:
        found = cached.found(name, revision)
        last = cached.layers_of(str(found.folder), found.digest)
    except (StrataError, OSError, ValueError):
        return None  # the page says what is wrong with the encoder, at length
    titles = [reading.title for reading in sorted(readings(last), key=_most_used_first)]
    if st.session_state.get("reading") not in titles:
        st.session_state.pop("reading", None)  # another encoder has fewer layers
    title: str = st.selectbox(
        "Reading",
        titles,
        key="reading",
        bind="query-params",
        help="Which layer, under which pooling, stands for a sentence on every page. "
        "Click a cell of the grid on the Layers page, or choose here.",
    )
    return title


def _most_used_first(reading: Reading) -> tuple[int, int, int]:
    """The mean of the last layer leads: what is chosen by default is not written into the address."""
    return len(reading.row.layers), -reading.row.layers[0], ("mean", "cls", "max").index(reading.pooling)


def _with_current(options: list[str], key: str) -> list[str]:
    """Options, and what is chosen already if it is not among them: a link may name anything."""
    current = st.session_state.get(key) or st.query_params.get(key)
    return options if current is None or current in options else [*options, current]
