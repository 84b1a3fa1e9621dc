"""The visitor's choice in the sidebar, as one frozen Choice."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from explorer.data.graded import sets
from explorer.data.graded.set_identity import SetIdentity
from explorer.encoding.load import declared
from explorer.encoding.locate import bundled
from explorer.encoding.locate.model_names import Found
from explorer.encoding.read.readings import OWN, Reading
from explorer.errors import BadChoice
from explorer.evaluating.tasks.judges import Evaluated
from explorer.measuring.scores.measure import Settings
from explorer.ui.access import cached, cached_text

MODEL_B = "Compare with: model B"  # the label of its field


@dataclass(frozen=True)
class Choice:
    """An encoder, an evaluation set, the measurement settings, and the title of the layer & pooling."""

    source: str
    sts: SetIdentity
    reading: str | None
    settings: Settings

    def found(self) -> Found:
        """The encoder's folder."""
        return cached.found(self.source)

    def evaluated(self) -> Evaluated:
        """The evaluation set, of any kind."""
        return cached_text.evaluated_on(self.sts)

    def reading_of(self, folder: Path) -> Reading:
        """The layer & pooling, in the encoder of that folder."""
        return declared.named(self.reading, folder)


def first() -> Choice:
    """What a visit shows before anything was chosen."""
    return Choice(bundled.NAME, sets.SAMPLE, None, Settings())


def chosen() -> Choice:
    """The current choice."""
    choice: Choice = st.session_state["_choice"]
    return choice


def titles(folder: Path) -> list[str]:
    """Every layer & pooling of the grid; the model default is first and is not written to the address."""
    return [OWN.title, *(one.title for one in sorted(declared.grid(folder), key=_most_used_first))]


def exists(title: str, folder: Path) -> bool:
    """Whether a model has the layer & pooling with this title, in its grid or outside of it."""
    try:
        declared.named(title, folder)
    except BadChoice:
        return False
    return True


def _most_used_first(reading: Reading) -> tuple[int, int, int]:
    """The mean of the last layer first."""
    return len(reading.row.layers), -reading.row.layers[0], ("mean", "last", "cls", "max").index(reading.pooling)
