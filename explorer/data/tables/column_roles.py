"""Map the roles of a kind of rows to the columns of a table."""

from __future__ import annotations

from collections.abc import Mapping as Lookup
from dataclasses import dataclass

from explorer.data.row_kinds import Kind
from explorer.data.tables.table import Table
from explorer.errors import WrongColumns


@dataclass(frozen=True)
class Mapping:
    """The column of each role for one kind of data; empty roles are left out."""

    kind: Kind
    players: tuple[tuple[str, str], ...]  # (role, column), in the order of the kind's columns

    @classmethod
    def of(cls, kind: Kind, columns: Lookup[str, str | None]) -> Mapping:
        """The mapping with these columns by role; None or no entry leaves a role empty."""
        chosen = ((role, columns.get(role)) for role in kind.roles)
        return cls(kind, tuple((role, column) for role, column in chosen if column is not None))

    def column(self, role: str) -> str | None:
        """The column of a role, if any."""
        return dict(self.players).get(role)

    def corrected(self, columns: Lookup[str, str | None]) -> Mapping:
        """The mapping with other columns for the given roles."""
        for role in columns:
            if role not in self.kind.roles:
                raise WrongColumns(f"{self.kind} have no role {role!r}; their roles are {', '.join(self.kind.roles)}.")
        return Mapping.of(self.kind, {**dict(self.players), **columns})

    def check(self, table: Table) -> None:
        """Raise unless every required role has an existing column, and no column has two roles."""
        missing = [one.role for one in self.kind.columns if one.required and self.column(one.role) is None]
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
