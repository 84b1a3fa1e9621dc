"""The roles that columns can have, by kind of data."""

from __future__ import annotations

from collections.abc import Mapping as Lookup
from dataclasses import dataclass
from typing import Literal

from explorer.data.tables.table import Table
from explorer.errors import WrongColumns

Kind = Literal["sentences", "pairs", "graded pairs", "triplets", "back-translations", "labelled texts"]


@dataclass(frozen=True)
class Role:
    """A role of a column; a form has one select box for each."""

    name: str
    label: str
    help: str
    required: bool = True


ROLES: dict[Kind, tuple[Role, ...]] = {
    "sentences": (Role("sentence", "Sentence", "One sentence per row."),),
    "pairs": (
        Role("first", "First sentence", "A sentence."),
        Role("second", "Second sentence", "A sentence with the same meaning, or an answer."),
    ),
    "graded pairs": (
        Role("first", "First sentence", "One sentence of the pair."),
        Role("second", "Second sentence", "The other sentence."),
        Role("score", "Score", "Human similarity score; higher is more similar."),
        Role("part", "Sub-corpus", "The sub-corpus of a pair, for scores by sub-corpus.", required=False),
    ),
    "triplets": (
        Role("anchor", "Anchor", "A sentence."),
        Role("positive", "Positive", "A sentence with the same meaning."),
        Role("negative", "Negative", "A sentence with another meaning, such as a contradiction."),
    ),
    "back-translations": (
        Role("sentence", "Sentence", "A sentence."),
        Role("translated", "Back-translation", "The same sentence, translated to another language and back."),
    ),
    "labelled texts": (
        Role("text", "Text", "A sentence or a text."),
        Role("label", "Label", "The class of the text, as a word or a number."),
        Role("second", "Second sentence", "The other sentence, if a label is of two.", required=False),
    ),
}


@dataclass(frozen=True)
class Mapping:
    """The column of each role for one kind of data; empty roles are left out."""

    kind: Kind
    players: tuple[tuple[str, str], ...]  # (role, column), in the order of ROLES

    @classmethod
    def of(cls, kind: Kind, columns: Lookup[str, str | None]) -> Mapping:
        """The mapping with these columns by role; None or no entry leaves a role empty."""
        chosen = ((role.name, columns.get(role.name)) for role in ROLES[kind])
        return cls(kind, tuple((role, column) for role, column in chosen if column is not None))

    def column(self, role: str) -> str | None:
        """The column of a role, if any."""
        return dict(self.players).get(role)

    def corrected(self, columns: Lookup[str, str | None]) -> Mapping:
        """The mapping with other columns for the given roles."""
        roles = [role.name for role in ROLES[self.kind]]
        for role in columns:
            if role not in roles:
                raise WrongColumns(f"{self.kind} have no role {role!r}; their roles are {', '.join(roles)}.")
        return Mapping.of(self.kind, {**dict(self.players), **columns})

    def check(self, table: Table) -> None:
        """Raise unless every required role has an existing column, and no column has two roles."""
        missing = [role.name for role in ROLES[self.kind] if role.required and self.column(role.name) is None]
        if missing:
            raise WrongColumns(
                f"{table.name} has no column for {' or '.join(missing)}, which {self.kind} need. "
                f"{table.inventory()} Choose a column for it, or add one."
            )
        taken: dict[str, str] = {}
        for role, column in self.players:
            if column not in table.columns:
                raise WrongColumns(f"{table.name} has no column {column!r} for {role}. {table.inventory()}")
            if column in taken:
                raise WrongColumns(
                    f"{column!r} of {table.name} is chosen for {taken[column]} and for {role}. "
                    f"{table.inventory()} Choose another for one of the two."
                )
            taken[column] = role
