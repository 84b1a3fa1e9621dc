"""What an item of an evaluation set is, and how many there are: a value of the set, which goes with its scores."""

from __future__ import annotations

from typing import Protocol

PAIR, TRIPLET, QUERY, ROW = "pair", "triplet", "query", "row"  # whatever it is measured by


# the kinds of sets other than scored pairs, in words, by what an item is
IN_WORDS = {PAIR: "probe pairs", TRIPLET: "triplets", QUERY: "queries with passages", ROW: "texts with labels"}


class NamedSet(Protocol):
    """An evaluation set of any kind: its name, the digest of its content, and how many items of what are scored."""

    @property
    def item(self) -> str:
        """One of the above."""

    @property
    def name(self) -> str:
        """The name in menus and verdicts."""

    @property
    def digest(self) -> str:
        """The digest of the content."""

    @property
    def pool(self) -> int:
        """How many passages each query is searched among; 0 of items that are not queries."""

    def __len__(self) -> int: ...


def several(item: str) -> str:
    """The plural of what an item is: `pairs`, `queries`."""
    return "queries" if item == QUERY else f"{item}s"


def counted(count: int, item: str, pool: int = 0) -> str:
    """How many items there are: `1,379 pairs`, `1 query`, `197 queries among 1,953 passages`."""
    among = f" among {pool:,} passage{'s' * (pool != 1)}" if pool else ""
    return f"{count:,} {item if count == 1 else several(item)}{among}"


def size_of(given: NamedSet) -> str:
    """How many items of what a set has."""
    return counted(len(given), given.item, given.pool)
