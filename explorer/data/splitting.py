"""Split scored pairs into dev and test so that no sentence is in two splits and scores are balanced.

Pairs that share a sentence, directly or through other pairs, form a family, and a family is never divided.
The result depends on the pairs alone, not on their order or on random numbers. So do the items that are drawn of a set.
"""

import hashlib
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from explorer.data.text_sets import GradedPairs, digest_of
from explorer.errors import CannotSplit

DEV_HALF, TEST_HALF = HALVES = ("dev half", "test half")
TRAIN_PART, DEV_PART = PARTS = ("train part", "dev part")
PIECES = (*HALVES, *PARTS)

_HALF = (0.5, 0.5)
_PART = (0.75, 0.25)
MINIMUM = 20  # fewest pairs to split; half of them allow a correlation
_LEAST = 2 / 3  # smallest share of its target size that a split may have
_BANDS = 10  # of the scale with about equal numbers of pairs, balanced over the splits

Family = tuple[int, ...]  # rows


def piece(pairs: GradedPairs, name: str) -> GradedPairs:
    """One of `PIECES` of pairs: a half, or a part of their dev half."""
    if name in HALVES:
        return halves(pairs)[HALVES.index(name)]
    return parts(halves(pairs)[0], pairs.name)[PARTS.index(name)]


def halves(pairs: GradedPairs) -> tuple[GradedPairs, ...]:
    """The dev half and the test half."""
    return _split(pairs, pairs.digest, pairs.name, _HALF, HALVES)


def parts(dev: GradedPairs, name: str) -> tuple[GradedPairs, ...]:
    """The train part (three quarters of a dev half) and the dev part (the rest)."""
    return _split(dev, dev.digest, name, _PART, PARTS)


@dataclass(frozen=True)
class Summary:
    """The sizes of the pieces by name, and why pieces are missing."""

    families: int
    sizes: dict[str, int]
    no_halves: str = ""
    no_parts: str = ""


def summary(pairs: GradedPairs) -> Summary:
    """The number of families, and of pairs in each half and part."""
    count, sizes = len(families(pairs)), dict[str, int]()
    try:
        dev, test = halves(pairs)
        sizes = {DEV_HALF: len(dev), TEST_HALF: len(test)}
        train_part, dev_part = parts(dev, pairs.name)
    except CannotSplit as error:
        return Summary(count, sizes, "" if sizes else str(error), str(error))
    return Summary(count, sizes | {TRAIN_PART: len(train_part), DEV_PART: len(dev_part)})


def families(pairs: GradedPairs) -> list[Family]:
    """The rows of pairs linked by shared sentences, ignoring case; each family in file order."""
    return linked(zip(pairs.first, pairs.second, strict=True))


def drawn(items: Sequence[Sequence[str]], count: int) -> list[int]:
    """The places of so many items, in their order, drawn by the texts of each alone, whatever else is in the set."""

    def number(place: int) -> bytes:
        return hashlib.sha256("\0".join(items[place]).encode("utf-8", "surrogatepass")).digest()

    return sorted(sorted(range(len(items)), key=number)[:count])


def linked(rows: Iterable[tuple[str, ...]]) -> list[Family]:
    """Rows of any number of sentences, in families that share a sentence, ignoring case."""
    parent: dict[str, str] = {}

    def root(sentence: str) -> str:
        parent.setdefault(sentence, sentence)
        while parent[sentence] != sentence:
            parent[sentence] = sentence = parent[parent[sentence]]
        return sentence

    first: list[str] = []
    for sentences in rows:
        one, *others = (sentence.casefold() for sentence in sentences)
        first.append(one)
        root(one)
        for other in others:
            parent[root(one)] = root(other)
    found: dict[str, list[int]] = {}
    for row, sentence in enumerate(first):
        found.setdefault(root(sentence), []).append(row)
    return list(map(tuple, found.values()))


@lru_cache(maxsize=2)  # dev part, test half and train part of one set are asked for in turn
def _split(
    pairs: GradedPairs, digest: str, name: str, shares: tuple[float, ...], pieces: tuple[str, ...]
) -> tuple[GradedPairs, ...]:
    """Assign families, largest first, to the split with the largest deficit in their bands and sub-corpora.

    The splits are these pieces of what is called `name`, which is the file if `pairs` are its dev half. The digest
    distinguishes scores that are equal, but written in two ways: 0 and -0.
    """
    if len(pairs) < MINIMUM:
        raise CannotSplit(
            f"{pairs.name} has {len(pairs)} pairs; a split into {' and '.join(pieces)} needs at least {MINIMUM}. "
            "Add pairs, or choose separate dev and test sets."
        )
    found, bands = families(pairs), bands_of(pairs.gold)
    # the cells of each row: all, band of scores, sub-corpus, and both
    cells = [((), band, part, (part, band)) for band, part in zip(bands, pairs.parts, strict=True)]
    rows = _assigned(_in_order(pairs, found), cells, shares)
    if any(len(one) < _LEAST * share * len(pairs) for one, share in zip(rows, shares, strict=True)):
        raise CannotSplit(
            f"{pairs.name} cannot be split into {' and '.join(pieces)}: {max(map(len, found))} of its {len(pairs)} "
            "pairs are linked by shared sentences, and a sentence must not be in two splits. Add pairs of other "
            "sentences, or choose separate dev and test sets."
        )
    made = tuple(pairs.taken(sorted(one), f"{name}, {which}") for one, which in zip(rows, pieces, strict=True))
    for one in made:
        if min(one.gold) == max(one.gold):
            raise CannotSplit(
                f"{pairs.name} cannot be split: every score in {one.name} would be {one.gold[0]:g}, so a "
                "correlation is undefined. Add pairs with other scores, or choose separate dev and test sets."
            )
    return made


def bands_of(gold: Sequence[float], bands: int = _BANDS) -> list[int]:
    """The band of each score: from the lowest on, all have about as many scores."""
    ascending = sorted(gold)
    return [bands * bisect_left(ascending, score) // len(gold) for score in gold]


def folds(rows: Sequence[tuple[str, ...]], strata: Sequence[Hashable], wanted: int) -> tuple[tuple[int, ...], ...]:
    """Divide rows into folds with no sentence in two of them, and about as many rows of each stratum in all of them.

    There are fewer than wanted, or one, where the rows have fewer families. They follow from the rows' texts alone.
    """
    found = linked(rows)
    digests = {family: digest_of(sorted("\0".join(rows[row]) for row in family)) for family in found}
    ordered = sorted(found, key=lambda family: (-len(family), digests[family]))
    count = max(1, min(wanted, len(found)))
    cells = [((), stratum) for stratum in strata]
    divided = _assigned([(int(digests[one][:8], 16), one) for one in ordered], cells, [1 / count] * count)
    return tuple(tuple(sorted(fold)) for fold in divided if fold)


def _assigned(
    ordered: Iterable[tuple[int, Family]], cells: Sequence[Sequence[Hashable]], shares: Sequence[float]
) -> list[list[int]]:
    """The rows of each split: each family goes to the split with the largest deficit in the cells of its rows.

    A number comes with each family, which decides between equal splits.
    """
    totals: Counter[Hashable] = Counter(cell for of_row in cells for cell in of_row)
    rows: list[list[int]] = [[] for _ in shares]  # of each split, and its number of rows in each cell
    has: list[Counter[Hashable]] = [Counter() for _ in shares]
    for mark, family in ordered:
        of_family: Counter[Hashable] = Counter(cell for row in family for cell in cells[row])

        def cost(side: int, of_family: Counter[Hashable] = of_family) -> float:
            """The increase of Σ n² / target; smallest for the split furthest below its target."""
            return sum(
                (2 * has[side][cell] + count) * count / (shares[side] * totals[cell])
                for cell, count in of_family.items()
            )

        sides = range(len(shares))
        side = min(sides if mark % 2 else reversed(sides), key=cost)  # ties alternate
        rows[side] += family
        has[side] += of_family
    return rows


def _in_order(pairs: GradedPairs, found: list[Family]) -> list[tuple[int, Family]]:
    """Families, largest first, then by mean score, then by text, independent of the order in the file."""

    def key(family: Family) -> tuple[int, float, str]:
        rows = sorted(
            (*sorted((pairs.first[row], pairs.second[row])), repr(pairs.gold[row]), pairs.parts[row]) for row in family
        )
        mean = sum(sorted(pairs.gold[row] for row in family)) / len(family)
        return -len(family), mean, digest_of(cell for row in rows for cell in row)

    ordered = sorted((key(family), family) for family in found)
    return [(int(digest[:8], 16), family) for (_, _, digest), family in ordered]
