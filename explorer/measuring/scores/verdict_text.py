"""Say in one sentence whether a model is better or worse than another, by how much, and whether it could be chance."""

from __future__ import annotations

import math
from dataclasses import dataclass

from explorer import in_words

BETTER, WORSE, CHANCE, UNKNOWN = "better", "worse", "chance", "unknown"
MIXED = "mixed"  # of several numbers, one is better and another is worse
WORDS = {BETTER: "Better", WORSE: "Worse", CHANCE: "Could be chance", UNKNOWN: "Not known"}
CI = "95 % CI"
OPTIMISTIC = "the training text holds sentences of these pairs, so the score is optimistic"
# the measures of scored pairs, triplets and probe packs; those of retrieval sets are others, of queries
SPEARMAN, ACCURACY, DISTINGUISHED = "Spearman", "accuracy", "share distinguished"
_ITEMS = {SPEARMAN: ("pair", "pairs"), ACCURACY: ("triplet", "triplets"), DISTINGUISHED: ("pair", "pairs")}


@dataclass(frozen=True)
class Sentence:
    """A verdict: its kind, for a colour and an icon, and the text after the kind's word."""

    kind: str  # better, worse, chance, or unknown if a score is missing
    detail: str
    optimistic: bool = False

    @property
    def word(self) -> str:
        """The first word: `Better`, `Better (optimistic)`."""
        return WORDS[self.kind] + " (optimistic)" * self.optimistic

    @property
    def text(self) -> str:
        """The whole sentence, as plain text."""
        return f"{self.word}: {self.detail}"


def sentence(
    name_a: str,
    a: float | None,
    name_b: str,
    b: float | None,
    difference: float | None,
    low: float | None,
    high: float | None,
    pairs: str,
    *,
    optimistic: bool = False,
) -> Sentence:
    """The verdict on B, the model after tuning, against A, the model before it.

    `a` and `b` are scores × 100, `difference` is b - a with its 95 % interval, `pairs` says which pairs and how many.
    A difference is better or worse if its interval excludes 0; a missing number makes the kind unknown.
    """
    scores = f"{name_b} scores {in_words.number(b)}, {name_a} {in_words.number(a)}"
    known = [number for number in (difference, low, high) if number is not None and math.isfinite(number)]
    if len(known) < 3 or in_words.NONE in (in_words.number(a), in_words.number(b)):
        return Sentence(UNKNOWN, f"{scores}, on {pairs}. A score that is missing cannot be compared.", optimistic)
    gap, *edges = map(_signed, known)
    detail = f"{scores}: {gap} ({CI} {edges[0]} to {edges[1]}) on {pairs}"
    return Sentence(kind_of(low, high), detail + f"; {OPTIMISTIC}" * optimistic + ".", optimistic)


def told_size(count: int, measure: str = SPEARMAN) -> str:
    """How many items an evaluation set has: `1,379 pairs`, or of a retrieval set `60 queries`."""
    return f"{count:,} {items_of(measure)[count != 1]}"


def items_of(measure: str) -> tuple[str, str]:
    """What a measure is a score of: one, and several."""
    return _ITEMS.get(measure, ("query", "queries"))


def kind_of(low: float | None, high: float | None) -> str:
    """Better, worse or chance, by the interval of the difference; unknown without one."""
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        return UNKNOWN
    if low > 0:
        return BETTER
    return WORSE if high < 0 else CHANCE


def _signed(number: float) -> str:
    """With its sign; -0.00 is 0.00."""
    return f"{round(number, 2) + 0.0:+.2f}"
