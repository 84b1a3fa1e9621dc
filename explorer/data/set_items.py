"""What an item of an evaluation set is, what is known of each, and how many there are: values that go with scores."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

PAIR, TRIPLET, QUERY, ROW = "pair", "triplet", "query", "row"  # whatever it is measured by
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")  # scripts without spaces


def word_count(text: str) -> int:
    """The number of words, split at spaces; a Chinese or Japanese character is a word of its own."""
    return len(_UNSPACED.sub(" x ", text).split())


@dataclass(frozen=True)
class Attribute:
    """An attribute of each sentence or item: numbers, NaN if missing, or names."""

    name: str
    cells: tuple[float, ...] | tuple[str, ...]

    @property
    def counts(self) -> bool:
        """Whether it holds numbers."""
        return bool(self.cells) and isinstance(self.cells[0], float)

    def taken(self, rows: Sequence[int]) -> Attribute:
        """The attribute of some sentences."""
        cells = tuple(self.cells[row] for row in rows)
        return replace(self, cells=cells)  # type: ignore[arg-type]  # of one kind, since all cells are


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


class DescribedSet(NamedSet, Protocol):
    """An evaluation set with attributes of its items."""

    @property
    def attributes(self) -> Sequence[Attribute]:
        """Further columns, by which scores can be split; not used in scores."""


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
