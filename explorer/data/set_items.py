"""What an item of an evaluation set is, what is known of each, and how many there are: values that go with scores."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from typing import Self

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


class ItemSet(ABC):
    """An evaluation set of any kind: a dataclass with a `name`, whose fields that are tuples have a value per item."""

    name: str
    item: ClassVar[str]  # what an item is: `pair`
    scored_as_whole: ClassVar[bool] = False  # so that some of its items are no set

    @property
    @abstractmethod
    def digest(self) -> str:
        """The digest of the content, independent of the name."""

    @property
    @abstractmethod
    def text_columns(self) -> Mapping[str, tuple[str, ...]]:
        """A text of each item, by heading."""

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """Further columns, by which scores can be split; not used in scores."""
        return ()

    @property
    def pool(self) -> int:
        """How many passages each item is searched among."""
        return 0

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """Every text of the items once, in order of first appearance; not what is only searched among."""
        return tuple(dict.fromkeys(chain.from_iterable(self.text_columns.values())))

    @property
    def row_texts(self) -> list[tuple[str, ...]]:
        """The texts of each item."""
        return list(zip(*self.text_columns.values(), strict=True))

    def identity_of(self, texts: tuple[str, ...]) -> tuple[str, ...]:
        """What two items have in common if they are one, of the texts of an item."""
        return texts

    def taken(self, rows: Sequence[int], name: str = "") -> Self:
        """Some items, by default under the same name."""
        assert not self.scored_as_whole, f"{self.name} is scored as a whole"
        columns: dict[str, Any] = {
            one.name: tuple(cells[row] for row in rows)
            for one in fields(self)  # type: ignore[arg-type]  # of a subclass, which is a dataclass
            if one.name != "attributes" and isinstance(cells := getattr(self, one.name), tuple) and cells
        }
        if attributes := self.attributes:
            columns["attributes"] = tuple(one.taken(rows) for one in attributes)
        return replace(self, name=name or self.name, **columns)  # type: ignore[type-var]

    def __len__(self) -> int:
        return len(next(iter(self.text_columns.values())))


def several(item: str) -> str:
    """The plural of what an item is: `pairs`, `queries`."""
    return "queries" if item == QUERY else f"{item}s"


def counted(count: int, item: str, pool: int = 0) -> str:
    """How many items there are: `1,379 pairs`, `1 query`, `197 queries among 1,953 passages`."""
    among = f" among {pool:,} passage{'s' * (pool != 1)}" if pool else ""
    return f"{count:,} {item if count == 1 else several(item)}{among}"


def size_of(given: ItemSet) -> str:
    """How many items of what a set has."""
    return counted(len(given), given.item, given.pool)
