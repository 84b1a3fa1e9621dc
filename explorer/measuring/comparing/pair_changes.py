"""Pairs of sentences that improved or got worse between two models, by their rank errors, and traits of their text.

A pair's rank error is the distance between its rank by cosine and its rank by gold score, as a share of all ranks: 0 is
the same rank, 1 the opposite end. Lower is better.
"""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.measuring.scores.correlation import ranks

Floats = NDArray[np.float64]

FAR = 0.25  # of all ranks: a pair with a larger rank error is in the wrong place
FIXED, BROKEN, STILL_WRONG = "improved", "got worse", "still wrong"
KINDS = (FIXED, BROKEN, STILL_WRONG)


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
    return np.asarray(np.abs(ranks(cosines) - ranks(gold)) / max(1, len(gold) - 1))


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
    if _is_headline(text):
        return False
    words = set(_WORD.findall(other.lower()))
    return any(not words.issuperset(_WORD.findall(name.lower())) for name in _NAME.findall(text))


def _is_headline(text: str) -> bool:
    """Whether most of its longer words are capitalised, so that capitals do not indicate names."""
    longer: list[str] = [word for word in _WORD.findall(text) if len(word) > 3]
    capitals = sum(word[0].isupper() for word in longer)
    return capitals * 4 > len(longer) * 3 > 12
