"""Measure what the words in which the pairs of a probe pack differ add to the cosine, under A and B."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explorer import in_words
from explorer.data.graded.probes import Pack
from explorer.encoding.read.readings import PAD, Reading
from explorer.measuring.scores.bootstrap import mean_difference
from explorer.measuring.table_cells import Rows, rounded
from explorer.progress import Progress, Work

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder

Floats = NDArray[np.float64]
Marks = tuple[list[bool], list[bool]]

PACKS = ("negation", "number", "antonym", "quantifier")  # a pair of these differs in a few words
ONE = "In the {} pack the words that differ add {} to the cosine (95 % CI {} to {})."
TWO = (
    "In the {} pack the words that differ add {} to the cosine under A and {} under B "
    "(change {}, 95 % CI {} to {}); the mean cosine changes by {}."
)
_EDGES = re.compile(r"^\W+|\W+$")


@dataclass(frozen=True, eq=False)
class PairSums:
    """What the words that differ add to the cosine of each pair of a pack (pair), and the cosines."""

    added: Floats
    cosines: Floats


@dataclass(frozen=True)
class Mean:
    """A mean over the pairs of a pack, and its 95 % confidence interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class PackWords:
    """What the words that differ add to the cosine in the mean, of each side, and the change from A to B."""

    name: str
    pairs: int
    sides: dict[str, Mean]
    cosines: dict[str, float]
    change: Mean | None

    def __str__(self) -> str:
        """`In the negation pack the words that differ add −0.04 to the cosine under A and −0.41 under B (…).`"""
        means = list(self.sides.values())
        if self.change is None:
            return ONE.format(self.name, *map(in_words.signed, (means[0].value, means[0].low, means[0].high)))
        one, other = self.cosines.values()
        numbers = (*(mean.value for mean in means), self.change.value, self.change.low, self.change.high, other - one)
        return TWO.format(self.name, *map(in_words.signed, numbers))


def differing(first: tuple[str, ...], second: tuple[str, ...]) -> Marks:
    """Which words of either sentence the other lacks, in any case and without punctuation around them."""
    one, other = ([_EDGES.sub("", word).casefold() for word in words] for words in (first, second))
    return [bool(word) and word not in other for word in one], [bool(word) and word not in one for word in other]


def pair_sums(
    encoder: Encoder, pack: Pack, reading: Reading, reference: str = PAD, max_length: int | None = None
) -> Work[PairSums]:
    """The sums of every pair of a pack."""
    from explorer.encoding.read.word_parts import chosen_sum, ends_of

    found = []
    for place, pair in enumerate(zip(pack.first, pack.second, strict=True)):
        yield Progress("weighing the words that differ", place, len(pack))
        one, other = (ends_of(encoder, text, reading, reference, max_length) for text in pair)
        found.append((chosen_sum(one, other, differing), float(one.last @ other.last)))
    return PairSums(*np.array(found).T)


def pack_words(name: str, sides: Mapping[str, PairSums]) -> PackWords:
    """The means of each side, and the change if there are two: the same resamples of the pairs for all."""
    added = [side.added for side in sides.values()]
    means = {side: _mean(np.zeros_like(sums.added), sums.added) for side, sums in sides.items()}
    cosines = {side: float(sums.cosines.mean()) for side, sums in sides.items()}
    return PackWords(name, len(added[0]), means, cosines, _mean(*added) if len(added) > 1 else None)


def _mean(one: Floats, other: Floats) -> Mean:
    found = mean_difference(one, other)  # × 100
    return Mean(*(float(number) / 100 for number in (found.difference, found.low, found.high)))


def pack_word_rows(found: list[PackWords]) -> Rows:
    """A row for every pack: the means with their intervals, the change and the mean cosines."""
    rows: Rows = []
    for one in found:
        row: dict[str, object] = {"pack": one.name, "pairs": one.pairs}
        for name, mean in (*one.sides.items(), *([("change", one.change)] if one.change else [])):
            row |= {name: rounded(mean.value), f"{name} low": rounded(mean.low), f"{name} high": rounded(mean.high)}
        rows.append(row | {f"mean cosine {side}": rounded(cosine) for side, cosine in one.cosines.items()})
    return rows
