"""Count the rows of a test set that are in the dev set, and refuse a test set that the dev set holds as a whole.

What is chosen by a row is not tested by it: a checkpoint, a share α, a layer & pooling, a threshold. A row is a pair of
the same two sentences, a query, a triplet or a labelled text, in any case of letters.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from explorer.data.set_items import PAIR, QUERY, ROW, TRIPLET, ItemSet, several
from explorer.errors import BadChoice

TEXTS = "texts"  # rows with labels


@dataclass(frozen=True)
class SharedRows:
    """How many rows of a test set are in the dev set; true if any are."""

    rows: int = 0
    of: int = 0  # rows of the test set
    items: str = several(PAIR)

    def __bool__(self) -> bool:
        return self.rows > 0

    @property
    def all(self) -> bool:
        """Whether every row of the test set is in the dev set."""
        return 0 < self.of == self.rows

    @property
    def words(self) -> str:
        """`12 of the 240 test pairs are in the dev set too: this score is optimistic.`; "" if none are."""
        of = f"{self.rows:,} of the {self.of:,} test {self.items}"
        return f"{of} are in the dev set too: this score is optimistic." if self else ""


NONE_SHARED = SharedRows()


def total(found: Iterable[SharedRows]) -> SharedRows:
    """The rows of several test sets together, without those that share none."""
    every = [one for one in found if one]
    if not every:
        return NONE_SHARED
    return SharedRows(sum(one.rows for one in every), sum(one.of for one in every), every[0].items)


def shared(dev: ItemSet, test: ItemSet) -> SharedRows:
    """The rows of a test set that are in a dev set.

    A triplet and a query are one row if anchor and query are the same text; other sets of two kinds share none.
    """
    chosen, tested = _rows(dev), _rows(test)
    if {dev.item, test.item} == {TRIPLET, QUERY}:
        chosen, tested = ([row[:1] for row in rows] for rows in (chosen, tested))
    elif dev.item != test.item:
        chosen = []
    known = set(chosen)
    items = TEXTS if test.item == ROW else several(test.item)
    return SharedRows(sum(row in known for row in tested), len(tested), items)


def check(dev: ItemSet, test: ItemSet) -> SharedRows:
    """The same; an error if all rows are shared."""
    found = shared(dev, test)
    if found.all:
        raise BadChoice(
            f"The dev set {dev.name!r} has all {found.of:,} {found.items} of the test set {test.name!r}, so that the "
            "test set would choose what it tests. Name another dev set, or another test set."
        )
    return found


def _rows(given: ItemSet) -> list[tuple[str, ...]]:
    """What distinguishes each item, in any case of letters."""
    return [given.identity_of(tuple(map(str.casefold, texts))) for texts in given.row_texts]
