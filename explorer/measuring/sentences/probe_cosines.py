"""Cosines of the probe packs: how often a paraphrase scores above another pair, and what the words that differ add."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explorer import in_words
from explorer.data.sample import PARAPHRASE, Pack
from explorer.encoding.read.pooling import PAD, Reading
from explorer.in_words import Rows, rounded, signed
from explorer.measuring.scores.bootstrap import mean_difference
from explorer.measuring.scores.judge import HALF, Share, percent, share_above
from explorer.measuring.sentences.sentence_vectors import Vectors
from explorer.progress import Progress, Work

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder

Floats = NDArray[np.float64]
Marks = tuple[list[bool], list[bool]]
PairSums = tuple[Floats, Floats]  # of each pair of a pack: what the words that differ add to the cosine, and the cosine
Mean = tuple[float, float, float]  # over the pairs of a pack, with its 95 % confidence interval

# the difference of a pack in a sentence
_NOTICED = {
    "negation": "a negation",
    "role swap": "exchanged roles",
    "antonym": "an antonym",
    "number": "another number",
    "quantifier": "another quantifier",
    "time order": "another order in time",
}
PACKS = ("negation", "number", "antonym", "quantifier")  # a pair of these differs in a few words
ONE = "In the {} pack the words that differ add {} to the cosine (95 % CI {})."
TWO = (
    "In the {} pack the words that differ add {} to the cosine under A and {} under B "
    "(change {}, 95 % CI {}); the mean cosine changes by {}."
)
_EDGES = re.compile(r"^\W+|\W+$")


@dataclass(frozen=True, eq=False)
class Probed:
    """The cosines of the pairs of every pack."""

    packs: tuple[Pack, ...]
    cosines: tuple[Floats, ...]  # of each pack (pair)

    @property
    def by_pack(self) -> dict[str, Floats]:
        """The cosines of the paraphrases and of the packs whose pairs differ in meaning, by the name of the pack."""
        found = zip(self.packs, self.cosines, strict=True)
        return {pack.name: cosines for pack, cosines in found if pack.name == PARAPHRASE or not pack.same}

    def mean(self, name: str) -> float:
        """The mean cosine of a pack."""
        return float(self.of(name).mean())

    def of(self, name: str) -> Floats:
        """The cosines of a pack."""
        return self.cosines[[pack.name for pack in self.packs].index(name)]

    def distinguished(self, name: str) -> Share:
        """Of all couples of a paraphrase and a pair of this pack, the share where the paraphrase has the higher cosine.

        Equal cosines count half, so that one half is chance.
        """
        return share_above(self.of(PARAPHRASE), self.of(name))

    def distinguished_from_all(self) -> Share:
        """Of all couples of a paraphrase and a pair of another meaning, of any pack, the share as for one pack."""
        others = [cosines for pack, cosines in zip(self.packs, self.cosines, strict=True) if not pack.same]
        return share_above(self.of(PARAPHRASE), np.concatenate(others))


def verdict(name: str, pack: str, share: Share) -> str:
    """One sentence: whether an encoder notices the difference of a pack, by the interval of its share."""
    what = _NOTICED.get(pack, pack)
    cases, chance = f"{share} of cases", f"a coin would get {percent(HALF)}"
    if share.low > HALF:
        finding = f"{name} notices {what}"
    elif share.high < HALF:
        finding = f"{name} does not notice {what}"
    else:
        finding = f"Whether {name} notices {what} cannot be told from chance"
    return f"{finding}: a paraphrase is more similar than a sentence with {what} in {cases}; {chance}."


def sentences_of(packs: tuple[Pack, ...]) -> tuple[str, ...]:
    """Every sentence of the packs once."""
    return tuple(dict.fromkeys(sentence for pack in packs for sentence in (*pack.first, *pack.second)))


def probed(packs: tuple[Pack, ...], vectors: Vectors) -> Probed:
    """The packs, of vectors (sentence, width) in the order of `sentences_of`."""
    place = {sentence: number for number, sentence in enumerate(sentences_of(packs))}
    exact = vectors.astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        unit = exact / np.linalg.norm(exact, axis=1, keepdims=True)
    return Probed(
        packs,
        tuple(
            (unit[[place[one] for one in pack.first]] * unit[[place[one] for one in pack.second]]).sum(1)
            for pack in packs
        ),
    )


def pack_rows(one: Probed, other: Probed | None) -> Rows:
    """A row for every pack: what its pairs are, mean cosines, and in how many % of cases a paraphrase is above it."""
    rows: Rows = []
    for pack in one.packs:
        row: dict[str, object] = {"pack": pack.name, "meaning": _meaning(pack), "pairs": len(pack)}
        for name, side in (("A", one), ("B", other)):
            if side is not None:
                row[f"mean cosine {name}"] = round(side.mean(pack.name), 4)
        for name, side in (("A", one), ("B", other)):
            if side is not None:
                share = None if pack.same else side.distinguished(pack.name)
                row[f"distinguished {name}"] = None if share is None else round(100 * share.value, 4)
                row[f"95 % CI {name}"] = share and in_words.interval(100 * share.low, 100 * share.high, digits=0)
        rows.append(row)
    return rows


def pair_rows(one: Probed, other: Probed | None) -> Rows:
    """A row for every pair of every pack."""
    rows: Rows = []
    for number, pack in enumerate(one.packs):
        for place in range(len(pack)):
            row: dict[str, object] = {
                "pack": pack.name,
                "meaning": _meaning(pack),
                "first": pack.first[place],
                "second": pack.second[place],
                "cosine A": round(float(one.cosines[number][place]), 4),
            }
            if other is not None:
                row["cosine B"] = round(float(other.cosines[number][place]), 4)
                row["B - A"] = round(float(other.cosines[number][place] - one.cosines[number][place]), 4)
            rows.append(row)
    return rows


def _meaning(pack: Pack) -> str:
    return "the same" if pack.same else "different"


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
        means = list(self.written.values())
        if self.change is None:
            return ONE.format(self.name, *means[0])
        (one, _), (other, _), change = means
        return TWO.format(self.name, one, other, *change, signed(in_words.gap(*self.cosines.values())))

    @property
    def written(self) -> dict[str, tuple[str, str]]:
        """The mean of each side and the change, as they are shown, each with the ends of its interval."""
        means = self.sides
        if self.change is not None:
            (one, *_), (other, *_) = self.sides.values()
            _, low, high = self.change
            means = self.sides | {"change": (in_words.gap(one, other), low, high)}
        return {name: (signed(mean), in_words.ends(mean, low, high)) for name, (mean, low, high) in means.items()}


def differing(first: tuple[str, ...], second: tuple[str, ...]) -> Marks:
    """Which words of either sentence the other lacks, in any case and without punctuation around them."""
    one, other = ([_EDGES.sub("", word).casefold() for word in words] for words in (first, second))
    return [bool(word) and word not in other for word in one], [bool(word) and word not in one for word in other]


def pair_sums(encoder: Encoder, pack: Pack, reading: Reading, max_length: int | None = None) -> Work[PairSums]:
    """The sums of every pair of a pack."""
    from explorer.encoding.read.word_parts import chosen_sum, ends_of

    found = []
    for place, pair in enumerate(zip(pack.first, pack.second, strict=True)):
        yield Progress("weighing the words that differ", place, len(pack))
        one, other = (ends_of(encoder, text, reading, PAD, max_length) for text in pair)
        found.append((chosen_sum(one, other, differing), float(one.last @ other.last)))
    added, cosines = np.array(found).T
    return added, cosines


def pack_words(name: str, sides: Mapping[str, PairSums]) -> PackWords:
    """The means of each side, and the change if there are two: the same resamples of the pairs for all."""
    sums = [added for added, _ in sides.values()]
    means = {side: _mean(np.zeros_like(added), added) for side, (added, _) in sides.items()}
    means_of_cosines = {side: float(cosines.mean()) for side, (_, cosines) in sides.items()}
    return PackWords(name, len(sums[0]), means, means_of_cosines, _mean(*sums) if len(sums) > 1 else None)


def _mean(one: Floats, other: Floats) -> Mean:
    found = mean_difference(one, other, most=0.0)  # × 100
    return float(found.difference) / 100, float(found.low) / 100, float(found.high) / 100


def pack_word_rows(found: list[PackWords]) -> Rows:
    """A row for every pack: the means with their intervals, the change and the mean cosines."""
    rows: Rows = []
    for one in found:
        row: dict[str, object] = {"pack": one.name, "pairs": one.pairs}
        for name, (mean, low, high) in (*one.sides.items(), *([("change", one.change)] if one.change else [])):
            row |= {name: rounded(mean), f"{name} low": rounded(low), f"{name} high": rounded(high)}
        rows.append(row | {f"mean cosine {side}": rounded(cosine) for side, cosine in one.cosines.items()})
    return rows
