"""A Table of text cells, the content of a file, and the roles that its columns have for a kind of rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from explorer.data.text_sets import Kind
from explorer.errors import UnreadableFile, WrongColumns

MOST_COLUMNS = 1_000
LISTED = 20  # columns in a message
LONGEST_NAME = 60  # characters of a column's name in a message; without a header, it may be a whole text


@dataclass(frozen=True)
class Table:
    """Rows of text under named columns, each with its first line in the file."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    lines: tuple[int, ...]
    header: bool = True  # False: the file names no columns, and they are called "column 1", "column 2", …
    ragged: tuple[int, ...] = ()  # lines with too few or too many fields; they are not among the rows
    set_aside: tuple[str, ...] = ()  # columns of lists, objects or bytes; they are not among the columns

    def __post_init__(self) -> None:
        twice = [column for column, count in Counter(self.columns).items() if count > 1]
        if twice:
            raise UnreadableFile(
                f"{self.name} has more than one column called {twice[0]!r}, so a choice would be "
                "ambiguous. Rename one of them."
            )

    def column(self, name: str) -> tuple[str, ...]:
        """The cells of one column, top to bottom."""
        if name not in self.columns:
            raise WrongColumns(f"{self.name} has no column {name!r}. {self.inventory()}")
        at = self.columns.index(name)
        return tuple(row[at] for row in self.rows)

    def inventory(self) -> str:
        """The columns, as a sentence for messages."""
        there = f"Its columns: {listed(self.columns)}."
        if not self.set_aside:
            return there
        return f"{there} Set aside, as they hold lists, objects or bytes: {listed(self.set_aside)}."


@dataclass(frozen=True)
class ColumnRoles:
    """The column of each role for one kind of rows; empty roles are left out."""

    kind: Kind
    chosen: tuple[tuple[str, str], ...]  # (role, column), in the order of the kind's columns

    @classmethod
    def of(cls, kind: Kind, columns: Mapping[str, str | None]) -> ColumnRoles:
        """These columns by role; None or no entry leaves a role empty."""
        found = ((role, columns.get(role)) for role in kind.roles)
        return cls(kind, tuple((role, column) for role, column in found if column is not None))

    def column(self, role: str) -> str | None:
        """The column of a role, if any."""
        return dict(self.chosen).get(role)

    def corrected(self, columns: Mapping[str, str | None]) -> ColumnRoles:
        """Other columns for the given roles."""
        for role in columns:
            if role not in self.kind.roles:
                raise WrongColumns(f"{self.kind} have no role {role!r}; their roles are {', '.join(self.kind.roles)}.")
        return ColumnRoles.of(self.kind, {**dict(self.chosen), **columns})

    def check(self, table: Table) -> None:
        """Raise unless every required role has an existing column, and no column has two roles."""
        missing = [one.role for one in self.kind.columns if one.required and self.column(one.role) is None]
        if missing:
            raise WrongColumns(
                f"{table.name} has no column for {' or '.join(missing)}, which {self.kind} need. "
                f"{table.inventory()} Choose a column for it, or add one."
            )
        taken: dict[str, str] = {}
        for role, column in self.chosen:
            if column not in table.columns:
                raise WrongColumns(f"{table.name} has no column {column!r} for {role}. {table.inventory()}")
            if column in taken:
                raise WrongColumns(
                    f"{column!r} of {table.name} is chosen for {taken[column]} and for {role}. "
                    f"{table.inventory()} Choose another for one of the two."
                )
            taken[column] = role


def joined(tables: Sequence[Table]) -> Table:
    """The rows of all tables, under the columns that each of them has; their lines are counted on."""
    first, *others = tables
    if not others:
        return first
    columns = tuple(column for column in first.columns if all(column in other.columns for other in others))
    rows: list[tuple[str, ...]] = []
    lines: list[int] = []
    ragged: list[int] = []
    before = 0
    for table in tables:
        rows += zip(*map(table.column, columns), strict=True)
        lines += [before + line for line in table.lines]
        ragged += [before + line for line in table.ragged]
        before += max((*table.lines, *table.ragged), default=0)
    set_aside = dict.fromkeys(column for table in tables for column in table.set_aside)
    return replace(
        first, columns=columns, rows=tuple(rows), lines=tuple(lines), ragged=tuple(ragged), set_aside=tuple(set_aside)
    )


def named(cells: Iterable[str]) -> tuple[str, ...]:
    """Column names in one line without outer spaces; a column without a name is named by its position."""
    return tuple(" ".join(cell.split()) or f"column {place}" for place, cell in enumerate(cells, start=1))


def listed(columns: Sequence[str]) -> str:
    """The first columns by name, and how many more there are; a name with a comma is in quotes."""
    more = len(columns) - LISTED
    short = (name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…" for name in columns[:LISTED])
    names = [repr(name) if "," in name else name for name in short]
    return ", ".join([*names, *([f"and {more:,} more"] if more > 0 else [])])


def check_width(name: str, count: int) -> None:
    """Refuse a file with too many columns before each of them is read."""
    if count > MOST_COLUMNS:
        raise UnreadableFile(
            f"{name} has {count:,} columns; at most {MOST_COLUMNS:,} are allowed. Keep those with sentences and "
            "scores, and remove the others."
        )
