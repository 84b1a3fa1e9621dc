"""The kinds of rows that methods train on and files hold, as tuples of typed columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

# what the sentences of a column mean, compared with those of the first column; "" is the first column itself
Relation = Literal["", "same", "translated", "other", "unknown"]


@dataclass(frozen=True)
class Column:
    """A column of rows: its role, by which a file's column is chosen, and how a form shows it."""

    role: str
    label: str
    help: str
    required: bool = True


@dataclass(frozen=True)
class Text(Column):
    """Sentences."""

    relation: Relation = ""

    def holds(self, other: Text) -> bool:
        """Whether these sentences can be used as those of another column; a translation means the same."""
        return self.relation == other.relation or (self.relation, other.relation) == ("translated", "same")


class Document(Text):
    """Texts of many sentences, in their order."""


class Label(Column):
    """The class of each row."""


class Score(Column):
    """A number for each row."""


class Part(Column):
    """The sub-corpus of each row, for scores by sub-corpus; not trained on."""


@dataclass(frozen=True)
class Kind:
    """A kind of rows."""

    name: str  # in recipes, commands, files and digests
    columns: tuple[Column, ...]
    least: int = 1  # rows that a file must have
    shown: str = ""  # its name as a reader knows it, if that is another

    def __str__(self) -> str:
        return self.name

    @property
    def title(self) -> str:
        """The name that a reader knows."""
        return self.shown or self.name

    @cached_property
    def roles(self) -> tuple[str, ...]:
        """The roles of all columns."""
        return tuple(column.role for column in self.columns)

    @cached_property
    def texts(self) -> tuple[Text, ...]:
        """The columns of sentences."""
        return tuple(column for column in self.columns if isinstance(column, Text))

    @cached_property
    def trained(self) -> tuple[Column, ...]:
        """The columns that a method can train on."""
        return tuple(column for column in self.columns if not isinstance(column, Part))

    @property
    def pairs_up(self) -> bool:
        """Whether the first two texts of a row mean the same, so that one can be searched with the other."""
        return len(self.texts) > 1 and self.answer is None and self.texts[1].relation == "same"

    @cached_property
    def answer(self) -> Label | Score | None:
        """The column of classes or scores, if there is one."""
        return next((column for column in self.columns if isinstance(column, (Label, Score))), None)

    def gives(self, other: Kind) -> bool:
        """Whether these rows have those of another kind: themselves, or a simpler kind without labels and scores.

        A triplet is also two labelled pairs.
        """
        if self == other:
            return True
        if other.answer:
            return (self, other) == (TRIPLETS, LABELLED_TEXTS)
        if isinstance(other.texts[0], Document):
            return self == SENTENCES  # one text per row: how long each is, only an encoder's tokens say
        wanted = other.texts
        return len(wanted) <= len(self.texts) and all(map(Text.holds, self.texts, wanted))


SENTENCES = Kind("sentences", (Text("sentence", "Sentence", "One sentence per row."),))
PAIRS = Kind(
    "pairs",
    (
        Text("first", "First sentence", "A sentence."),
        Text("second", "Second sentence", "A sentence with the same meaning, or an answer.", relation="same"),
    ),
    least=2,  # a contrastive loss needs a negative
)
ANY_PAIRS = Kind(  # whose sentences are compared with each other, and not trained on
    "pairs of sentences",
    (
        Text("first", "First sentence", "One sentence of the pair."),
        Text("second", "Second sentence", "The other sentence.", relation="unknown"),
    ),
)
SCORED_PAIRS = Kind(
    "graded pairs",
    (
        Text("first", "First sentence", "One sentence of the pair."),
        Text("second", "Second sentence", "The other sentence.", relation="unknown"),
        Score("score", "Score", "Human similarity score; higher is more similar."),
        Part("part", "Sub-corpus", "The sub-corpus of a pair, for scores by sub-corpus.", required=False),
    ),
    least=3,  # two points always correlate with 1 or -1
    shown="scored pairs",
)
TRIPLETS = Kind(
    "triplets",
    (
        Text("anchor", "Anchor", "A sentence."),
        Text("positive", "Positive", "A sentence with the same meaning.", relation="same"),
        Text("negative", "Negative", "A sentence with another meaning, such as a contradiction.", relation="other"),
    ),
)
BACK_TRANSLATIONS = Kind(
    "back-translations",
    (
        Text("sentence", "Sentence", "A sentence."),
        Text(
            "translated",
            "Back-translation",
            "The same sentence, translated to another language and back.",
            relation="translated",
        ),
    ),
    least=2,  # as for pairs
)
LABELLED_TEXTS = Kind(
    "labelled texts",  # how many a task needs depends on its folds
    (
        Text("text", "Text", "A sentence or a text."),
        Label("label", "Label", "The class of the text, as a word or a number."),
        Text("second", "Second sentence", "The other sentence, if a label is of two.", False, relation="unknown"),
    ),
)
DOCUMENTS = Kind(
    "documents",
    (Document("document", "Document", "A text of many sentences in their order, such as an article."),),
    least=2,  # as for pairs
)
# from the least to the most that a method needs of its text
KINDS = (SENTENCES, PAIRS, TRIPLETS, BACK_TRANSLATIONS, SCORED_PAIRS, LABELLED_TEXTS, DOCUMENTS)
