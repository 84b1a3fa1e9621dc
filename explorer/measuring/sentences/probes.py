"""Cosines of the probe packs, and how often a paraphrase scores above a pair of another meaning."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from explorer.data.graded.probes import PARAPHRASE, Pack
from explorer.measuring.scores.meaning_judges import in_order
from explorer.measuring.sentences.sentence_vectors import Vectors

Floats = NDArray[np.float64]

CHANCE = 0.5
RESAMPLES = 1000
# the difference of a pack in a sentence, where it is not the name of the pack
_NOTICED = {
    "role swap": "a role swap",
    "antonym": "an antonym",
    "number": "a changed number",
    "quantifier": "a changed quantifier",
    "time order": "a changed order in time",
}


def percent(share: float) -> str:
    """A share from 0 to 1 in whole percent: `3 %`."""
    return f"{100 * share:.0f} %"


@dataclass(frozen=True)
class Share:
    """A share of couples from 0 to 1, and its 95 % confidence interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """`3 %`, alike on every page and in every command."""
        return percent(self.value)


@dataclass(frozen=True, eq=False)
class Probed:
    """The cosines of the pairs of every pack."""

    packs: tuple[Pack, ...]
    cosines: tuple[Floats, ...]  # of each pack (pair)

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
        """The same over every pack whose pairs differ in meaning."""
        others = [cosines for pack, cosines in zip(self.packs, self.cosines, strict=True) if not pack.same]
        return share_above(self.of(PARAPHRASE), np.concatenate(others))


def verdict(name: str, pack: str, share: Share) -> str:
    """One sentence: whether an encoder notices the difference of a pack, by the interval of its share."""
    what = _NOTICED.get(pack, pack)
    cases, chance = f"{share} of cases", f"chance is {percent(CHANCE)}"
    if share.low > CHANCE:
        said = f"{name} notices {what}"
    elif share.high < CHANCE:
        said = f"{name} does not notice {what}"
    else:
        said = f"Whether {name} notices {what} cannot be told from chance"
    return f"{said}: it distinguishes a paraphrase from it in {cases}, {chance}."


def share_above(one: Floats, other: Floats, *, resamples: int = RESAMPLES, seed: int = 0) -> Share:
    """The share of couples in which `one` (pair) is above `other` (pair), with its interval.

    Both lists are resampled, pairs and not couples, because couples that have a pair in common are not independent;
    the interval is from the 2.5th to the 97.5th percentile of the resamples. A share of 0 or 1 is the same in every
    resample: there, the open end is the exact binomial bound of the shorter list.
    """
    return _share_above(one.tobytes(), other.tobytes(), resamples, seed)


@lru_cache(maxsize=1024)
def _share_above(one_bytes: bytes, other_bytes: bytes, resamples: int, seed: int) -> Share:
    """The same, kept: every rerun of a page asks for the shares of all packs again."""
    one, other = np.frombuffer(one_bytes), np.frombuffer(other_bytes)
    couples = in_order(one[:, None], other[None, :])
    value = float(couples.mean())
    draws = np.random.default_rng(seed)
    first, second = (draws.multinomial(size, [1 / size] * size, resamples) for size in couples.shape)
    low, high = np.quantile(((first @ couples) * second).sum(1) / couples.size, (0.025, 0.975))
    bound = float(1 - 0.025 ** (1 / min(couples.shape)))
    return Share(
        value, min(low, 1 - bound) if value == 1 else float(low), max(high, bound) if value == 0 else float(high)
    )


def changed(one: Probed, other: Probed) -> list[tuple[str, Share, Share]]:
    """The packs that B distinguishes more or less often than A, by intervals that do not overlap; the largest first."""
    found = [
        (pack.name, one.distinguished(pack.name), other.distinguished(pack.name)) for pack in one.packs if not pack.same
    ]
    sure = [(name, a, b) for name, a, b in found if a.high < b.low or b.high < a.low]
    return sorted(sure, key=lambda change: -abs(change[2].value - change[1].value))


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


def pack_rows(one: Probed, other: Probed | None) -> list[dict[str, object]]:
    """A row for every pack: what its pairs are, mean cosines, and in how many % of cases a paraphrase is above it."""
    rows: list[dict[str, object]] = []
    for pack in one.packs:
        row: dict[str, object] = {"pack": pack.name, "meaning": _meaning(pack), "pairs": len(pack)}
        for name, side in (("A", one), ("B", other)):
            if side is not None:
                row[f"mean cosine {name}"] = round(side.mean(pack.name), 4)
        for name, side in (("A", one), ("B", other)):
            if side is not None:
                share = None if pack.same else side.distinguished(pack.name)
                row[f"distinguished {name}"] = None if share is None else round(100 * share.value, 4)
                row[f"95 % CI {name}"] = None if share is None else f"{100 * share.low:.0f} to {100 * share.high:.0f}"
        rows.append(row)
    return rows


def pair_rows(one: Probed, other: Probed | None) -> list[dict[str, object]]:
    """A row for every pair of every pack."""
    rows: list[dict[str, object]] = []
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
