"""Traits of a sentence pair computed from its text: length, shared words, negation, numbers, names."""

from __future__ import annotations

import re
from dataclasses import dataclass

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
