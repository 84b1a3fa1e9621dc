"""The visitor's choice in the sidebar: evaluation set, and model A and B, each with layer & pooling and settings."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from explorer.data.graded import sets
from explorer.data.graded.set_identity import SetIdentity
from explorer.encoding.load import declared
from explorer.encoding.locate import lookup
from explorer.encoding.locate.model_names import Found
from explorer.encoding.read.readings import OWN, Reading
from explorer.errors import BadChoice, StrataError
from explorer.evaluating.tasks.judges import Evaluated
from explorer.measuring.scores.measure import Settings
from explorer.ui import messages
from explorer.ui.access import availability, cached, cached_text

MODEL_B = "Compare with: model B"  # the label of its field
ASK_FOR_B = f"To compare two models, choose the second in the sidebar under **{MODEL_B}**."
_CHOSEN, _MODEL_B = "_choice", "_model_b"


@dataclass(frozen=True)
class Choice:
    """An encoder, an evaluation set, the measurement settings, and the title of the layer & pooling."""

    source: str
    evaluation_set: SetIdentity
    reading: str | None
    settings: Settings

    def found(self) -> Found:
        """The encoder's folder."""
        return cached.found(self.source)

    def evaluated(self) -> Evaluated:
        """The evaluation set, of any kind."""
        return cached_text.evaluated_on(self.evaluation_set)

    def reading_of(self, folder: Path) -> Reading:
        """The layer & pooling, in the encoder of that folder."""
        return declared.named(self.reading, folder)


@dataclass(frozen=True)
class Reader:
    """A side, A or B, whose model is on this disk: what its vectors depend on."""

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

    def vectors(self, sentences: Sequence[str]) -> cached.Vectors | None:
        """Vectors (sentence, width); None while they are being computed."""
        return cached.vectors(self.found, sentences, self.reading, self.settings)

    def is_coming(self, sentences: Sequence[str]) -> bool:
        """Whether these vectors are being computed: False too if that failed or was stopped."""
        return cached.vectors_are_coming(self.found, sentences, self.reading, self.settings)


def first() -> Choice:
    """What a visit shows before anything was chosen."""
    return Choice(lookup.BUNDLED, sets.SAMPLE, None, Settings())


def remember(choice: Choice, model_b: Choice | None) -> None:
    """Keep what the sidebar says, for `chosen` and `model_b`."""
    st.session_state[_CHOSEN], st.session_state[_MODEL_B] = choice, model_b


def chosen() -> Choice:
    """The current choice, with model A."""
    choice: Choice = st.session_state[_CHOSEN]
    return choice


def model_b() -> Choice | None:
    """The same choice with model B and its layer & pooling; None where no B is chosen."""
    choice: Choice | None = st.session_state[_MODEL_B]
    return choice


def readers(choice: Choice, other: Choice | None) -> tuple[Reader, ...]:
    """A, and B if there is one; empty without A. Errors of either are shown."""
    one = _reader("A", choice)
    if one is None:
        return ()
    second = _reader("B", other) if other else None
    return (one,) if second is None else (one, second)


def _reader(name: str, choice: Choice) -> Reader | None:
    found = availability.encoder(choice.source)
    if found is None:
        return None
    try:
        return Reader(name, found, choice.reading_of(found.folder), choice.settings)
    except StrataError as error:
        messages.trouble(error)
        return None


def ask_for_b() -> None:
    """Tell the visitor where to choose model B."""
    st.info(ASK_FOR_B, icon=":material/compare:")


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
