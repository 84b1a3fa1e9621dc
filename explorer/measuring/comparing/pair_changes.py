"""Pairs, queries and other items that improved or got worse between two models.

Pairs are compared by their rank errors, queries also by their length and the words they share with what they find.

A pair's rank error is the distance between its rank by cosine and its rank by gold score, as a share of all ranks: 0 is
the same rank, 1 the opposite end. Lower is better.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer import in_words
from explorer.data.retrieval_sets import RetrievalSet
from explorer.in_words import Rows, rounded
from explorer.measuring.scores import bootstrap, correlation

Floats = NDArray[np.float64]

FAR = 0.25  # of all ranks: a pair with a larger rank error is in the wrong place
FIXED, BROKEN, STILL_WRONG = "improved", "got worse", "still wrong"
KINDS = (FIXED, BROKEN, STILL_WRONG)
SAME = 1e-9  # scores that differ by less are equal
NOT_FOUND = "> 100"  # of a rank: the right answer is not among the first hundred
LENGTHS = ((1, 4), (5, 8), (9, 1_000_000))  # words of a query
SHARES = (("none of its words", 0.0, 0.0), ("up to half", 0.0, 0.5), ("more than half", 0.5, 1.0))


@dataclass(frozen=True, eq=False)
class RankErrors:
    """The rank errors (pair) of two models on the same pairs."""

    one: Floats
    other: Floats

    @property
    def change(self) -> Floats:
        """The decrease of a pair's rank error from the one model to the other."""
        return np.asarray(self.one - self.other)

    def places(self, kind: str, far: float = FAR) -> NDArray[np.intp]:
        """The pairs of a kind, largest change or largest error first."""
        was, is_now = self.one > far, self.other > far
        if kind == STILL_WRONG:
            return _descending(np.minimum(self.one, self.other), was & is_now)
        if kind == FIXED:
            return _descending(
                self.change, was & (self.other <= far)
            )  # not `~is_now`: a missing error belongs to no kind
        return _descending(-self.change, (self.one <= far) & is_now)

    def examples(self) -> tuple[int | None, int | None, int | None]:
        """The pair whose rank error fell most, the one whose error rose most, and one that did not change.

        The last is the pair with the smallest change, and among several the one with the largest error. None if no pair
        is of that kind.
        """
        change = np.where(np.isfinite(self.change), self.change, 0.0)
        if not len(change) or not np.isfinite(self.change).any():
            return None, None, None
        best, worst = int(change.argmax()), int(change.argmin())
        still = np.lexsort((-np.maximum(self.one, self.other), np.abs(np.round(change, 12))))
        same = next((int(place) for place in still if place not in (best, worst)), None)
        return best if change[best] > 0 else None, worst if change[worst] < 0 else None, same


def rank_errors(gold: Floats, one: NDArray[Any], other: NDArray[Any]) -> RankErrors:
    """Compute the rank errors of two models from their cosines (pair)."""
    return RankErrors(*(errors(gold, side) for side in (one, other)))


def errors(gold: Floats, cosines: NDArray[Any]) -> Floats:
    """The rank error of each pair; NaN if cosines are missing."""
    if np.isnan(cosines).any():
        return np.full(len(gold), np.nan)
    return np.asarray(np.abs(correlation.ranks(cosines) - correlation.ranks(gold)) / max(1, len(gold) - 1))


def _descending(by: Floats, inside: NDArray[np.bool_]) -> NDArray[np.intp]:
    places = np.flatnonzero(inside)
    return places[np.argsort(-by[places], kind="stable")]


_WORD = re.compile(r"\w+(?:['’]\w+)?")
_NEGATION = re.compile(
    r"\b(?:no|not|nor|none|nobody|nothing|neither|never|nowhere|without|cannot|hardly|\w+n['’]t)\b", re.IGNORECASE
)
_NUMBER = re.compile(
    r"\d|\b(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|hundred|"
    r"thousand|million|billion|first|second|third|half|both|several|many|few)\b",
    re.IGNORECASE,
)
_NAME = re.compile(
    r"(?<=[^\s.!?:;\"“”'‘(\[-])[\s,]{1,3}([A-Z][\w.&-]*\w)"
)  # a capital within a sentence, not at its start


@dataclass(frozen=True)
class PairTraits:
    """The number of words of the longer sentence, the share of shared words, and differences between the two."""

    words: int
    overlap: float
    negated: bool  # only one is negated
    negation: bool  # at least one is
    numbers: bool  # numbers in one that are not in the other
    names: bool  # a word written like a name in one that is not in the other


def traits(first: str, second: str) -> PairTraits:
    """Compute the traits of English sentences; for other languages only lengths and overlap are meaningful."""
    sides = [words_of(text) for text in (first, second)]
    every, shared = set(sides[0]) | set(sides[1]), set(sides[0]) & set(sides[1])
    negations = [bool(_NEGATION.search(text)) for text in (first, second)]
    numbers = [sorted(word for word in side if _NUMBER.search(word)) for side in sides]
    return PairTraits(
        words=max(map(len, sides)),
        overlap=len(shared) / len(every) if every else 0.0,
        negated=negations[0] != negations[1],
        negation=any(negations),
        numbers=numbers[0] != numbers[1],
        names=_has_name_of_its_own(first, second) or _has_name_of_its_own(second, first),
    )


def words_of(text: str) -> list[str]:
    """The words of a text, in lower case."""
    return _WORD.findall(text.lower())


def _has_name_of_its_own(text: str, other: str) -> bool:
    longer = [word for word in _WORD.findall(text) if len(word) > 3]
    capitals = sum(word[0].isupper() for word in longer)
    if capitals * 4 > len(longer) * 3 > 12:  # a headline: capitals do not indicate names
        return False
    words = set(_WORD.findall(other.lower()))
    return any(not words.issuperset(_WORD.findall(name.lower())) for name in _NAME.findall(text))


@dataclass(eq=False)
class ItemChanges:
    """What each item gets, from 0 to 1, before and after, with the rank and the cosine of its right answer, if any."""

    texts: Mapping[str, Sequence[str]]  # by heading: the query and a passage, and so on
    before: Floats
    after: Floats
    ranks: tuple[Floats, Floats] | None = None
    cosines: tuple[Floats, Floats] | None = None
    firsts: tuple[Floats, Floats] | None = None  # the place of what ranks first among the passages
    passages: Sequence[str] = ()

    @cached_property
    def gaps(self) -> Floats:
        """After - before of each item."""
        return self.after - self.before

    @cached_property
    def _climbs(self) -> Floats:
        """By how many ranks each item rose; an answer that is not found counts as rank 101."""
        if self.ranks is None:
            return np.zeros(len(self.gaps))
        before, after = (np.where(np.isnan(side), 101.0, side) for side in self.ranks)
        return np.asarray(before - after)

    @property
    def counts(self) -> tuple[int, int, int]:
        """How many items improved, got worse, and stayed the same."""
        better, worse = len(self.changed(improved=True)), len(self.changed(improved=False))
        return better, worse, len(self.gaps) - better - worse

    def changed(self, *, improved: bool) -> list[int]:
        """The items that improved or got worse, the most changed first; of equal changes that of more ranks.

        An item whose score is the same changed if its rank did, such as from 60 to 20 under nDCG@10.
        """
        sign = 1 if improved else -1
        gaps, climbs = sign * self.gaps, sign * self._climbs
        order = np.lexsort((-climbs, -gaps))
        return [int(item) for item in order if gaps[item] > SAME or (abs(gaps[item]) <= SAME and climbs[item] > 0)]

    def ranks_text(self, item: int) -> str:
        """`rank 7 → 1`; "" if items are not ranked."""
        if self.ranks is None:
            return ""
        shown = (NOT_FOUND if math.isnan(side[item]) else f"{side[item]:.0f}" for side in self.ranks)
        return f"rank {' → '.join(shown)}"

    def in_place_of(self, item: int, *, after: bool) -> str:
        """The passage that ranks first in place of a right one; "" if a right one does, or if it is not known."""
        if self.firsts is None or self.ranks is None or self.ranks[after][item] == 1:
            return ""
        place = self.firsts[after][item]
        return "" if math.isnan(place) else self.passages[int(place)]

    def cosines_text(self, item: int) -> str:
        """`cosine 0.612 → 0.874`; "" if there are none."""
        if self.cosines is None:
            return ""
        return f"cosine {in_words.cosines(*(side[item] for side in self.cosines), digits=3)}"

    def rows(self, measure: str) -> Rows:
        """A row for each item: first those that improved, most first, then the unchanged, then those that got worse."""
        better, worse = self.changed(improved=True), self.changed(improved=False)
        between = sorted(set(range(len(self.gaps))) - {*better, *worse})
        return self.rows_of((*better, *between, *reversed(worse)), measure)

    def rows_of(self, items: Sequence[int], measure: str) -> Rows:
        """A row for each of some items: its texts, and its rank, cosine and score before and after."""
        rows: Rows = []
        for item in items:
            row: dict[str, object] = {heading: cells[item] for heading, cells in self.texts.items()}
            for name, rank in zip(("rank before", "rank after"), self.ranks or (), strict=False):
                row[name] = None if math.isnan(rank[item]) else int(rank[item])
            if self.firsts is not None:
                row |= {f"rank 1 {when}": self.in_place_of(item, after=when == "after") for when in ("before", "after")}
            for name, cosine in zip(("cosine before", "cosine after"), self.cosines or (), strict=False):
                row[name] = rounded(cosine[item], 3)
            row[f"{measure} before"] = rounded(100 * self.before[item], 2)
            row[f"{measure} after"] = rounded(100 * self.after[item], 2)
            rows.append(row)
        return rows


class QueryChanges(ItemChanges):
    """The score of each judged query, from 0 to 1, under A (before) and under B (after)."""

    def __init__(self, task: RetrievalSet, before: Floats, after: Floats) -> None:
        super().__init__({"query": task.queries}, before, after)
        self.task = task

    @cached_property
    def difference(self) -> bootstrap.Interval:
        """B - A × 100, the mean over queries with its interval."""
        return bootstrap.mean_difference(self.before, self.after)

    @cached_property
    def words(self) -> NDArray[np.int_]:
        """The number of words of each query."""
        return np.array([len(words_of(query)) for query in self.task.queries])

    @cached_property
    def shared(self) -> Floats:
        """The share of each query's words that are in a document relevant to it; of several the most."""
        found = []
        for query, judged in zip(self.task.queries, self.task.judgements, strict=True):
            own = set(words_of(query))
            shares = [len(own & set(words_of(self.task.documents[place]))) / max(1, len(own)) for place in judged]
            found.append(max(shares))
        return np.array(found)

    def query_rows(self) -> Rows:
        """A row for each query, in the order of the set."""
        return [
            {
                "query": query,
                "words": int(self.words[number]),
                "words in a relevant document": rounded(self.shared[number]),
                "A": rounded(100 * self.before[number], 2),
                "B": rounded(100 * self.after[number], 2),
                "B - A": in_words.gap(100 * self.before[number], 100 * self.after[number]),
            }
            for number, query in enumerate(self.task.queries)
        ]

    def groups(self) -> Rows:
        """A row for each group of queries, by length and by shared words: both means and the difference."""
        groups = {}
        for low, high in LENGTHS:
            name = f"{low} words or more" if high > 1000 else f"{low} to {high} words"
            groups[name] = (self.words >= low) & (self.words <= high)
        for name, over, most in SHARES:
            least = self.shared >= 0 if over == most else self.shared > over
            groups[f"{name} in a relevant document"] = least & (self.shared <= most)
        rows: Rows = []
        for name, inside in groups.items():
            if inside.any():
                sides = 100 * float(self.before[inside].mean()), 100 * float(self.after[inside].mean())
                gap, found = in_words.gap(*sides), bootstrap.mean_difference(self.before[inside], self.after[inside])
                rows.append(
                    {
                        "queries": name,
                        "number": int(inside.sum()),
                        "A": rounded(sides[0], 2),
                        "B": rounded(sides[1], 2),
                        "B - A": gap,
                        "95 % CI": in_words.ends(gap, float(found.low), float(found.high)),
                    }
                )
        return rows
