"""Kinds of rows as typed columns, and sets of texts, from sentences to scored pairs; immutable, each with a digest."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import ClassVar, Literal, cast

from explorer.data.set_items import PAIR, ROW, TRIPLET, Attribute, GoldScale, ItemSet, PairSet

Columns = tuple[tuple[str, ...] | tuple[float, ...], ...]  # (column, row): sentences or labels, or scores
# what the sentences of a column mean, compared with those of the first column; "" is the first column itself
Relation = Literal["", "same", "translated", "other", "unknown"]


def digest_of(parts: Iterable[str]) -> str:
    """The SHA-256 of a list of texts; the boundaries between texts are part of it."""
    sha = hashlib.sha256()
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass")
        sha.update(len(encoded).to_bytes(8, "little"))
        sha.update(encoded)
    return sha.hexdigest()


@dataclass(frozen=True)
class Sentences:
    """Sentences in the order of their source, with attributes, and the pairs that belong together."""

    name: str
    texts: tuple[str, ...]
    columns: tuple[Attribute, ...] = ()
    lines: tuple[tuple[int, int], ...] = ()  # pairs that a map joins by a line
    note: str = ""  # how they were chosen from their source
    dropped: tuple[str, ...] = ()  # rows of a file without a sentence, and why

    @cached_property
    def digest(self) -> str:
        """The digest of the sentences, independent of the name."""
        return digest_of(("sentences", *self.texts))

    def __len__(self) -> int:
        return len(self.texts)

    def column(self, name: str) -> Attribute | None:
        """The column with this name."""
        return next((column for column in self.columns if column.name == name), None)


@dataclass(frozen=True)
class Triplets(ItemSet):
    """An anchor, a sentence that means the same, and one that contradicts it."""

    name: str
    anchors: tuple[str, ...]
    positives: tuple[str, ...]
    negatives: tuple[str, ...]
    # further columns; not used in scores
    attributes: tuple[Attribute, ...] = field(default=(), compare=False, kw_only=True)
    item: ClassVar[str] = TRIPLET

    @cached_property
    def digest(self) -> str:
        """The digest of the triplets, independent of the name."""
        return digest_of(("triplets", *self.anchors, *self.positives, *self.negatives))

    @property
    def text_columns(self) -> dict[str, tuple[str, ...]]:
        """The three texts of each triplet."""
        return {"anchor": self.anchors, "positive": self.positives, "negative": self.negatives}

    @property
    def related(self) -> Iterable[tuple[str, str, float]]:
        """Anchors with positives, and with negatives."""
        for anchor, positive, negative in self.row_texts:
            yield from ((anchor, positive, 1.0), (anchor, negative, 0.0))


@dataclass(frozen=True)
class GradedPairs(PairSet):
    """Two sentences per row and a human similarity score."""

    name: str
    first: tuple[str, ...]
    second: tuple[str, ...]
    gold: tuple[float, ...]
    parts: tuple[str, ...]  # the sub-corpus of each row, "" if it has none
    tags: tuple[str, ...] = ()  # another label of each row, such as SICK's entailment; not used in scores
    # further columns; not used in scores
    attributes: tuple[Attribute, ...] = field(default=(), compare=False, kw_only=True)
    scale: GoldScale | None = field(default=None, compare=False, kw_only=True)  # of their text, if these are scaled
    item: ClassVar[str] = PAIR

    @cached_property
    def own_gold(self) -> tuple[float, ...]:
        """The gold scores as they are in their text, to be shown."""
        return self.scale.own(self.gold) if self.scale else self.gold

    @cached_property
    def digest(self) -> str:
        """The digest of pairs, scores and parts, independent of the name."""
        return digest_of(("graded pairs", *self.first, *self.second, *map(repr, self.gold), *self.parts))

    @property
    def names(self) -> dict[str, tuple[str, ...]]:
        """Sub-corpora and tags."""
        return {"sub-corpus": self.parts, "tag": self.tags}

    @cached_property
    def places(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The indices of the first and the second sentence of each row in `sentences`."""
        place = {text: at for at, text in enumerate(self.sentences)}
        return tuple(place[text] for text in self.first), tuple(place[text] for text in self.second)

    def rows_of(self, some: GradedPairs) -> tuple[int, ...]:
        """Which rows are also in another set, such as a half of this one."""
        known = set(zip(some.first, some.second, some.gold, some.parts, strict=True))
        rows = zip(self.first, self.second, self.gold, self.parts, strict=True)
        return tuple(row for row, of_row in enumerate(rows) if of_row in known)


def related_pairs(given: ItemSet) -> GradedPairs | None:
    """The pairs of texts of a set: those that belong together have 1, those that do not 0; None of single texts."""
    if isinstance(given, GradedPairs):
        return given
    rows = tuple(given.related)
    first, second, gold = zip(*rows, strict=True) if rows else ((), (), ())
    return GradedPairs(given.name, first, second, gold, ("",) * len(rows)) if rows else None


@dataclass(frozen=True)
class Labelled(ItemSet):
    """A text per row, or two, and the name of its class."""

    name: str
    texts: tuple[str, ...]
    labels: tuple[str, ...]
    second: tuple[str, ...] = ()  # the second sentence of each row, if a row is a pair
    # further columns; not used in scores
    attributes: tuple[Attribute, ...] = field(default=(), compare=False, kw_only=True)
    item: ClassVar[str] = ROW

    @cached_property
    def digest(self) -> str:
        """The digest of texts and labels, independent of the name."""
        return digest_of(("labelled", str(len(self.second)), *self.texts, *self.second, *self.labels))

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes, sorted."""
        return tuple(sorted(set(self.labels)))

    @property
    def text_columns(self) -> dict[str, tuple[str, ...]]:
        """The one or two texts of each row."""
        return {"text": self.texts, **({"second": self.second} if self.second else {})}


@dataclass(frozen=True)
class Corpus(ItemSet):
    """Training rows: a tuple for each column. Labelled ones can be what a run is evaluated on."""

    name: str
    kind: Kind  # of the rows
    columns: Columns  # of sentences, then the column of scores or labels, if the rows have one
    validation: Corpus | None = None  # rows that choose the checkpoint, and rows to test on, of labelled texts
    test: Corpus | None = None
    division: str = ""  # how the rows were divided, in words
    scale: GoldScale | None = field(default=None, compare=False)  # of the scores before they were scaled
    item: ClassVar[str] = ROW

    @cached_property
    def texts(self) -> tuple[tuple[str, ...], ...]:
        """The columns of sentences."""
        return cast(tuple[tuple[str, ...], ...], self.columns[:-1] if self.kind.answer else self.columns)

    @property
    def labels(self) -> tuple[str, ...]:
        """The class of each row; () if the rows have none."""
        return cast(tuple[str, ...], self.columns[-1]) if isinstance(self.kind.answer, Label) else ()

    @property
    def text_columns(self) -> dict[str, tuple[str, ...]]:
        """The columns of sentences by their numbers."""
        return {str(number): column for number, column in enumerate(self.texts)}

    @property
    def scores(self) -> tuple[float, ...]:
        """The score of each row; () if the rows have none."""
        return cast(tuple[float, ...], self.columns[-1]) if isinstance(self.kind.answer, Score) else ()

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes, sorted."""
        return tuple(sorted(set(self.labels)))

    def taken(self, rows: Sequence[int], name: str = "") -> Corpus:
        """Some rows, by default under the same name."""
        columns = tuple(tuple(column[row] for row in rows) for column in self.columns)
        return replace(self, name=name or self.name, columns=columns)  # type: ignore[arg-type]  # of the same types

    @cached_property
    def digest(self) -> str:
        """The digest of the rows, also of those that are not trained on, independent of the name."""
        answers = self.columns[len(self.texts) :]
        # a column that rows may lack: else three rows without it could have the texts of two rows with it
        more = len(self.texts) - sum(text.required for text in self.kind.texts)
        rows = f"{self.kind.name}, {more} more" if more > 0 else self.kind.name
        held_out = self.validation, self.test
        others = (one.digest if one else "" for one in held_out) if any(held_out) else ()
        return digest_of((rows, *chain.from_iterable(self.texts), *map(repr, chain.from_iterable(answers)), *others))

    @cached_property
    def duplicates(self) -> int:
        """The number of rows that are equal to an earlier row."""
        return len(self) - len(set(zip(*self.columns, strict=True)))

    def __len__(self) -> int:
        return len(self.columns[0])


@dataclass(frozen=True)
class Column:
    """A column of rows: its role, by which a file's column is chosen, and how a form shows it."""

    role: str
    label: str
    help: str
    required: bool = True
    relation: Relation = ""  # of a column of sentences


class Text(Column):
    """Sentences."""

    def holds(self, other: Text) -> bool:
        """Whether these sentences can be used as those of another column; a translation means the same."""
        return self.relation == other.relation or (self.relation, other.relation) == ("translated", "same")


class Document(Text):
    """Texts of many sentences, in their order."""


class Label(Column):
    """The class of each row."""


class Score(Column):
    """A number for each row."""


class TeacherScore(Column):
    """A score that a teacher gave to two texts of a row, or a difference of two; rows hold the difference alone."""


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
        judged_otherwise = isinstance(self.answer, (Label, Score))
        return len(self.texts) > 1 and not judged_otherwise and self.texts[1].relation == "same"

    @property
    def is_judged(self) -> bool:
        """Whether held-out rows can judge a model: they have a score, or two texts that belong together."""
        return self.pairs_up or isinstance(self.answer, Score)

    @cached_property
    def answer(self) -> Label | Score | TeacherScore | None:
        """The column of classes or scores, if there is one; the first of several of a teacher's."""
        return next((column for column in self.columns if isinstance(column, (Label, Score, TeacherScore))), None)

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
    # Of four pairs a perfect order, upwards or downwards, comes by chance in 2 of 24 cases (8 %), of five in 2 of 120:
    least=5,  # the fewest of which a score can differ from chance (p < 0.05)
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
SCORED_TRIPLETS = Kind(  # for a method on triplets that is set to learn these scores
    "triplets with teacher scores",
    (
        *TRIPLETS.columns,
        TeacherScore("score_positive", "Teacher's score of the positive", "Higher is more similar.", False),
        TeacherScore("score_negative", "Teacher's score of the negative", "On the same scale.", False),
        TeacherScore("margin", "Teacher's margin", "The score of the positive less that of the negative.", False),
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
