"""The sides of the sidebar, A and B if one is chosen: encoder, layer & pooling, and settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from explorer.encoding.load import declared
from explorer.encoding.locate.model_names import Found
from explorer.encoding.read.readings import Reading
from explorer.errors import StrataError
from explorer.measuring.scores.measure import Settings
from explorer.ui import messages
from explorer.ui.access import availability, vectors
from explorer.ui.access.sidebar_choice import MODEL_B, Choice
from explorer.ui.access.vectors import Vectors

ASK_FOR_B = f"To compare two models, choose the second in the sidebar under **{MODEL_B}**."


@dataclass(frozen=True)
class Reader:
    """A side: `name` is A or B."""

    name: str
    found: Found
    reading: Reading
    settings: Settings

    @property
    def title(self) -> str:
        """The heading of a figure, safe in markdown."""
        described = declared.described(self.reading, self.found.folder)
        return f"**{self.name}** {messages.plain(self.found.name)}, {messages.plain(described)}"

    @property
    def key(self) -> str:
        """The cache key of the side."""
        return f"{self.found.digest} {self.reading.title} {self.settings}"

    def vectors(self, sentences: Sequence[str]) -> Vectors | None:
        """Vectors (sentence, width); None while they are being computed."""
        return vectors.of_reading(self.found, sentences, self.reading, self.settings)

    def is_coming(self, sentences: Sequence[str]) -> bool:
        """Whether these vectors are being computed: False too if that failed or was stopped."""
        return vectors.are_coming(self.found, sentences, self.reading, self.settings)


def readers(choice: Choice, other: Choice | None) -> tuple[Reader, ...]:
    """A, and B if there is one; empty without A. Errors of either are shown."""
    one = _reader("A", choice)
    if one is None:
        return ()
    second = _reader("B", other) if other else None
    return (one,) if second is None else (one, second)


def ask_for_b() -> None:
    """Tell the visitor where to choose model B."""
    st.info(ASK_FOR_B, icon=":material/compare:")


def _reader(name: str, choice: Choice) -> Reader | None:
    found = availability.encoder(choice.source)
    if found is None:
        return None
    try:
        return Reader(name, found, choice.reading_of(found.folder), choice.settings)
    except StrataError as error:
        messages.trouble(error)
        return None
