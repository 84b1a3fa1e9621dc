"""Cosines of the probe packs, and how often a paraphrase scores above a pair of another meaning."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from explorer.data.graded.probes import PARAPHRASE, Pack
from explorer.measuring.scores.judge import HALF, Share, percent, share_above
from explorer.measuring.sentences.sentence_vectors import Vectors

Floats = NDArray[np.float64]

# the difference of a pack in a sentence
_NOTICED = {
    "negation": "a negation",
    "role swap": "exchanged roles",
    "antonym": "an antonym",
    "number": "another number",
    "quantifier": "another quantifier",
    "time order": "another order in time",
}


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
        """The same over every pack whose pairs differ in meaning."""
        others = [cosines for pack, cosines in zip(self.packs, self.cosines, strict=True) if not pack.same]
        return share_above(self.of(PARAPHRASE), np.concatenate(others))


def verdict(name: str, pack: str, share: Share) -> str:
    """One sentence: whether an encoder notices the difference of a pack, by the interval of its share."""
    what = _NOTICED.get(pack, pack)
    cases, chance = f"{share} of cases", f"a coin would get {percent(HALF)}"
    if share.low > HALF:
        said = f"{name} notices {what}"
    elif share.high < HALF:
        said = f"{name} does not notice {what}"
    else:
        said = f"Whether {name} notices {what} cannot be told from chance"
    return f"{said}: a paraphrase is more similar than a sentence with {what} in {cases}; {chance}."


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
