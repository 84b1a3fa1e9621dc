"""Does an encoder hear a small difference: how alike does it find pairs that mean the same, and pairs that do not?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from explorer.data.probes import PARAPHRASE, Pack
from explorer.measuring.layer_vectors import Vectors
from explorer.measuring.similarity import SAME

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Probed:
    """The cosines of every pack's pairs."""

    packs: tuple[Pack, ...]
    cosines: tuple[Floats, ...]  # of each pack (pair)

    def mean(self, name: str) -> float:
        """The mean cosine of a pack."""
        return float(self.of(name).mean())

    def of(self, name: str) -> Floats:
        """The cosines of a pack."""
        return self.cosines[[pack.name for pack in self.packs].index(name)]

    def told_apart(self, name: str) -> float:
        """Of all couples of a paraphrase and a pair of this pack, the share in which the paraphrase is the more alike.

        Equal cosines count half, so that one half is chance.
        """
        return _above(self.of(PARAPHRASE), self.of(name))

    def all_told_apart(self) -> float:
        """The same over every pack whose pairs differ in meaning."""
        others = [cosines for pack, cosines in zip(self.packs, self.cosines, strict=True) if not pack.same]
        return _above(self.of(PARAPHRASE), np.concatenate(others))


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
    """A row for every pack: what its pairs are, mean cosines, and how often, in %, a paraphrase is more alike."""
    rows: list[dict[str, object]] = []
    for pack in one.packs:
        row: dict[str, object] = {"pack": pack.name, "meaning": _meaning(pack), "pairs": len(pack)}
        for name, side in (("A", one), ("B", other)):
            if side is not None:
                row[f"mean cosine {name}"] = round(side.mean(pack.name), 4)
        for name, side in (("A", one), ("B", other)):
            if side is not None:
                row[f"told apart {name}"] = None if pack.same else round(100 * side.told_apart(pack.name), 1)
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


def _above(one: Floats, other: Floats) -> float:
    more = one[:, None] - other[None, :]
    return float(np.where(np.abs(more) <= SAME, 0.5, more > 0).mean())
