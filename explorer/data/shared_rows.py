"""Count the rows of a test set that are in the dev set or in the training text; a dev set that holds all is refused.

What is chosen by a row is not tested by it: a checkpoint, a share α, a layer & pooling, a threshold. Nor is a model by
a row that it was trained on. A row is a pair of the same two sentences, a query, a triplet or a labelled text, in any
case of letters.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import chain

from explorer import in_words
from explorer.data.set_items import PAIR, QUERY, ROW, TRIPLET, ItemSet, several
from explorer.data.text_sets import Corpus, Label
from explorer.errors import BadChoice

TEXTS = "texts"  # rows with labels
# what holds the rows, and its name in JSON
DEV, TRAINED, SEEN = "dev set too", "training text", "training text, without their scores"
_NAMES = {DEV: "in_dev_set", TRAINED: "in_training_text", SEEN: "in_training_text_without_scores"}
UNKNOWN = "The training text of run '{}' cannot be read as it was, so whether it holds these rows is not known."


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
        return _optimistic(self.rows, self.of, self.items, DEV) if self else ""


NONE_SHARED = SharedRows()


@dataclass(frozen=True)
class UsedRows:
    """Which rows of a set the runs of models have used up, each by its place."""

    of: int = 0
    items: str = several(PAIR)
    chosen: frozenset[int] = frozenset()  # they are in a dev set that chose a model
    trained: frozenset[int] = frozenset()  # they are in a training text, with what they are judged by
    seen: frozenset[int] = frozenset()  # their sentences alone are in one
    unknown: tuple[str, ...] = ()  # runs whose text cannot be read as it was

    @classmethod
    def of_set(cls, given: ItemSet) -> UsedRows:
        """None of a set."""
        return cls(len(given), _items(given))

    def __bool__(self) -> bool:
        return bool(self.chosen or self.trained or self.seen)

    def __or__(self, other: UsedRows) -> UsedRows:
        """The rows of both."""
        chosen, trained = self.chosen | other.chosen, self.trained | other.trained
        runs = tuple(dict.fromkeys(self.unknown + other.unknown))
        return replace(self, chosen=chosen, trained=trained, seen=(self.seen | other.seen) - trained, unknown=runs)

    @property
    def none_left(self) -> bool:
        """Whether no row is left that neither chose a model nor was trained on."""
        return 0 < self.of == len(self.chosen | self.trained)

    @property
    def words(self) -> str:
        """How many there are of each kind, and what is not known; "" if nothing is to be said."""
        not_known = (UNKNOWN.format(run) for run in self.unknown)
        counts = (_optimistic(count, self.of, self.items, where) for where, count in self._counts.items())
        return " ".join([*counts, *not_known])

    @property
    def as_json(self) -> dict[str, object]:
        """`{"in_dev_set": 12}`; empty if there are none."""
        found: dict[str, object] = {_NAMES[where]: count for where, count in self._counts.items()}
        return {**found, **({"unknown_training_text": list(self.unknown)} if self.unknown else {})}

    @property
    def _counts(self) -> dict[str, int]:
        """How many rows there are of each kind, by what holds them; without a kind that has none."""
        kinds = (DEV, self.chosen), (TRAINED, self.trained), (SEEN, self.seen)
        return {where: len(places) for where, places in kinds if places}


NONE_USED = UsedRows()


def total(found: Iterable[SharedRows]) -> SharedRows:
    """The rows of several test sets together, without those that share none."""
    every = [one for one in found if one]
    if not every:
        return NONE_SHARED
    return SharedRows(sum(one.rows for one in every), sum(one.of for one in every), every[0].items)


def shared(dev: ItemSet, test: ItemSet) -> SharedRows:
    """How many rows of a test set are in a dev set."""
    return SharedRows(len(places_in(dev, test)), len(test), _items(test))


def places_in(dev: ItemSet, test: ItemSet) -> frozenset[int]:
    """Which rows of a test set are in a dev set.

    A triplet and a query are one row if anchor and query are the same text; other sets of two kinds share none.
    """
    chosen, tested = _rows(dev), _rows(test)
    if {dev.item, test.item} == {TRIPLET, QUERY}:
        chosen, tested = ([row[:1] for row in rows] for rows in (chosen, tested))
    elif dev.item != test.item:
        chosen = []
    known = set(chosen)
    return frozenset(place for place, row in enumerate(tested) if row in known)


def trained_on(texts: Iterable[Corpus], test: ItemSet) -> tuple[frozenset[int], frozenset[int]]:
    """Which rows of a test set were trained on as they are judged, and of which others the sentences were.

    A pair, a triplet and a query are judged by texts that belong together, or do not; a labelled text by its label.
    """
    rows = [tuple(map(str.casefold, row)) for row in test.row_texts]
    sentences = frozenset(chain.from_iterable(rows))
    seen: set[str] = set()
    pairs: set[frozenset[str]] = set()
    labelled: set[tuple[str, ...]] = set()
    for text in texts:
        for row in text.row_texts:
            first, *others = map(str.casefold, row)
            if known := sentences.intersection((first, *others)):
                seen |= known
                pairs.update(frozenset((first, other)) for other in others if {first, other} <= known)
                if isinstance(text.kind.answer, Label):
                    labelled.add((first, *others))

    def is_trained(row: tuple[str, ...]) -> bool:
        if test.item == ROW:
            return row in labelled
        first, *others = row
        together = (first != other and frozenset((first, other)) in pairs for other in others)
        return any(together) if test.item == QUERY else all(together)

    trained = frozenset(place for place, row in enumerate(rows) if is_trained(row))
    only_seen = (place for place, row in enumerate(rows) if seen.issuperset(test.identity_of(row)))
    return trained, frozenset(only_seen) - trained


def check(dev: ItemSet, test: ItemSet) -> SharedRows:
    """The same; an error if all rows are shared."""
    found = shared(dev, test)
    if found.all:
        raise BadChoice(
            f"The dev set {dev.name!r} has all {found.of:,} {found.items} of the test set {test.name!r}, so that the "
            "test set would choose what it tests. Name another dev set, or another test set."
        )
    return found


def _optimistic(count: int, of: int, items: str, where: str) -> str:
    """`12 of the 240 test pairs are in the dev set too: this score is optimistic.`"""
    some = "All" if count == of else f"{count:,} of the"
    return f"{some} {of:,} test {items} {in_words.verb(count, 'is', 'are')} in the {where}: this score is optimistic."


def _items(test: ItemSet) -> str:
    return TEXTS if test.item == ROW else several(test.item)


def _rows(given: ItemSet) -> list[tuple[str, ...]]:
    """What distinguishes each item, in any case of letters."""
    return [given.identity_of(tuple(map(str.casefold, texts))) for texts in given.row_texts]
