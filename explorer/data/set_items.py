"""What an item of an evaluation set is, what is known of each, and how many there are: values that go with scores."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from typing import Self

LABEL, LENGTH = "label", "length"  # in words, of the longest text of an item
# whatever it is measured by
PAIR, TRIPLET, QUERY, ROW, TRANSLATION = "pair", "triplet", "query", "row", "translation"
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")  # scripts without spaces


def word_count(text: str) -> int:
    """The number of words, split at spaces; a Chinese or Japanese character is a word of its own."""
    return len(_UNSPACED.sub(" x ", text).split())


@dataclass(frozen=True)
class GoldScale:
    """The lowest and the highest gold score of a text, whose scores a training scales to 0 (lowest) to 1 (highest)."""

    low: float = 0.0
    high: float = 1.0

    def __str__(self) -> str:
        return f"{self.low:g} to {self.high:g}"

    def own(self, gold: Iterable[float]) -> tuple[float, ...]:
        """The scores of the text, of scaled ones; nine digits, since 0.48 of 5 is 2.4000000000000004."""
        return tuple(float(f"{self.low + score * (self.high - self.low):.9g}") for score in gold)


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
    def names(self) -> dict[str, tuple[str, ...]]:
        """What each item has by name, besides further columns of a file: its label, its sub-corpus."""
        return {}

    @property
    def shown_columns(self) -> dict[str, tuple[str, ...]]:
        """The texts of every item, and labels."""
        return {**self.text_columns, **{name: cells for name, cells in self.names.items() if name == LABEL}}

    @property
    def measured_texts(self) -> dict[str, tuple[tuple[str, ...], ...]]:
        """The columns of texts of which the longest is the length of an item, by the name of the length."""
        return {LENGTH: tuple(self.text_columns.values())}

    @property
    def split_columns(self) -> tuple[Attribute, ...]:
        """What scores can be split by: further columns of a file, labels, and the number of words of the texts."""
        found = {one.name: one for one in self.attributes}
        cells = {one.cells for one in found.values()}
        for name, labels in self.names.items():
            if len({*labels}) > 1 and labels not in cells:
                found.setdefault(name, Attribute(name, labels))
        for name, texts in self.measured_texts.items():
            lengths = _lengths(texts)
            if len({*lengths}) > 1:
                found.setdefault(name, Attribute(name, lengths))
        return tuple(found.values())

    @property
    def related(self) -> Iterable[tuple[str, str, float]]:
        """Pairs of texts: those that belong together with 1, those that do not with 0; none of single texts."""
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
        return replace(self, name=name or self.name, **columns)  # type: ignore[type-var]  # as above

    def __len__(self) -> int:
        return len(next(iter(self.text_columns.values())))


@lru_cache(maxsize=16)  # every rerun of a page asks for those of its set
def _lengths(columns: tuple[tuple[str, ...], ...]) -> tuple[float, ...]:
    """The words of the longest text of each row."""
    return tuple(float(max(map(word_count, row))) for row in zip(*columns, strict=True))


class PairSet(ItemSet):
    """A set whose items are two texts each."""

    first: tuple[str, ...]
    second: tuple[str, ...]

    @property
    def text_columns(self) -> dict[str, tuple[str, ...]]:
        """Both texts of each item."""
        return {"first": self.first, "second": self.second}

    def identity_of(self, texts: tuple[str, ...]) -> tuple[str, ...]:
        """Both texts in either order."""
        return tuple(sorted(texts))


def several(item: str) -> str:
    """The plural of what an item is: `pairs`, `queries`."""
    return f"{item.removesuffix('y')}ies" if item.endswith("y") else f"{item}s"


def counted(count: int, item: str, pool: int = 0) -> str:
    """How many items there are: `1,379 pairs`, `1 query`, `197 queries among 1,953 passages`."""
    among = f" among {pool:,} passage{'s' * (pool != 1)}" if pool else ""
    return f"{count:,} {item if count == 1 else several(item)}{among}"


def size_of(given: ItemSet) -> str:
    """How many items of what a set has."""
    return counted(len(given), given.item, given.pool)


def all_of(given: ItemSet) -> str:
    """What a score is of: `All 240 pairs of Sample pairs.`"""
    return f"All {size_of(given)} of {given.name}."
