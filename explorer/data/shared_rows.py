"""Count the rows of a test set that are in the dev set or in the training text; a dev set that holds all is refused.

What is chosen by a row is not tested by it: a checkpoint, a share α, a layer & pooling, a threshold. Nor is a model by
a row that it was trained on. A row is a pair of the same two sentences, a query, a triplet or a labelled text, in any
case of letters.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain, combinations

from explorer.data.set_items import PAIR, QUERY, ROW, TRIPLET, ItemSet, several
from explorer.data.text_sets import Corpus
from explorer.errors import BadChoice

TEXTS = "texts"  # rows with labels
# what holds the rows, and its name in JSON
DEV, TRAINED, SEEN = "dev set too", "training text", "training text, without their scores"
_NAMES = {DEV: "in_dev_set", TRAINED: "in_training_text", SEEN: "in_training_text_without_scores"}


@dataclass(frozen=True)
class SharedRows:
    """How many rows of a test set are in the dev set, or in a training text; true if any are."""

    rows: int = 0
    of: int = 0  # rows of the test set
    items: str = several(PAIR)
    where: str = DEV

    def __bool__(self) -> bool:
        return self.rows > 0

    @property
    def all(self) -> bool:
        """Whether every row of the test set is among them."""
        return 0 < self.of == self.rows

    @property
    def leave_no_test(self) -> bool:
        """Whether every row chose the model, or was trained on with its score, so that the set tests nothing."""
        return self.all and self.where != SEEN

    @property
    def words(self) -> str:
        """`12 of the 240 test pairs are in the dev set too: this score is optimistic.`; "" if none are."""
        of = f"{'All' if self.all else f'{self.rows:,} of the'} {self.of:,} test {self.items}"
        return f"{of} are in the {self.where}: this score is optimistic." if self else ""

    @property
    def as_json(self) -> dict[str, int]:
        """`{"in_dev_set": 12}`; empty if there are none."""
        return {_NAMES[self.where]: self.rows} if self else {}


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
    return SharedRows(sum(row in known for row in tested), len(tested), _items(test))


def trained_on(texts: Iterable[Corpus], test: ItemSet) -> SharedRows:
    """The rows of a test set whose texts are together in a row that was trained on; else those that are sentences."""
    tested = [frozenset(row) for row in _rows(test)]
    wanted, sentences = set(tested), frozenset(chain.from_iterable(tested))
    sizes = {len(row) for row in wanted}
    rows: set[frozenset[str]] = set()
    seen: set[str] = set()
    for text in texts:
        is_judged = len(text.texts) > 1 or text.kind.answer is not None
        for row in text.row_texts:
            if known := sentences.intersection(map(str.casefold, row)):
                seen |= known
                if is_judged:
                    parts = chain.from_iterable(combinations(known, size) for size in sizes)
                    rows |= wanted.intersection(map(frozenset, parts))
    held = sum(row in rows for row in tested) if rows else sum(row <= seen for row in tested)
    return SharedRows(held, len(tested), _items(test), TRAINED if rows else SEEN)


def check(dev: ItemSet, test: ItemSet) -> SharedRows:
    """The same; an error if all rows are shared."""
    found = shared(dev, test)
    if found.all:
        raise BadChoice(
            f"The dev set {dev.name!r} has all {found.of:,} {found.items} of the test set {test.name!r}, so that the "
            "test set would choose what it tests. Name another dev set, or another test set."
        )
    return found


def _items(test: ItemSet) -> str:
    return TEXTS if test.item == ROW else several(test.item)


def _rows(given: ItemSet) -> list[tuple[str, ...]]:
    """What distinguishes each item, in any case of letters."""
    return [given.identity_of(tuple(map(str.casefold, texts))) for texts in given.row_texts]
