"""The visitor's choice in the sidebar, as one frozen Choice."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from explorer.data.kinds import GradedPairs
from explorer.encoding.load import declared
from explorer.encoding.locate import layout
from explorer.encoding.locate.model_names import Found
from explorer.encoding.read.readings import OWN, Reading, readings
from explorer.measuring.scores.measure import Settings
from explorer.ui.access import cached, cached_text

MODEL_B = "Compare with: model B"  # the label of its field


@dataclass(frozen=True)
class Choice:
    """An encoder, an evaluation set, the measurement settings, and the title of the layer & pooling."""

    source: str
    sts: str
    reading: str | None
    settings: Settings

    def found(self) -> Found:
        """The encoder's folder."""
        return cached.found(self.source)

    def pairs(self) -> GradedPairs:
        """The scored pairs of the set."""
        return cached_text.graded_pairs(self.sts)

    def reading_of(self, folder: Path) -> Reading:
        """The layer & pooling, in the encoder of that folder."""
        return declared.named(self.reading, folder)


def chosen() -> Choice:
    """The current choice."""
    choice: Choice = st.session_state["_choice"]
    return choice


def titles(folder: Path) -> list[str]:
    """Every layer & pooling; the model default is first and is not written to the address."""
    return [OWN.title, *(one.title for one in sorted(readings(layout.last_layer(folder)), key=_most_used_first))]


def _most_used_first(reading: Reading) -> tuple[int, int, int]:
    """The mean of the last layer first."""
    return len(reading.row.layers), -reading.row.layers[0], ("mean", "cls", "max").index(reading.pooling)
