"""A made-up kind of set: a text, one that means the same, and two that do not."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from explorer.data.set_items import ItemSet
from explorer.data.tables.files import read_file
from explorer.data.text_sets import digest_of
from explorer.evaluating.kinds import JudgedSet
from explorer.measuring.scores.judge import Floats

if TYPE_CHECKING:
    from torch import Tensor

HEADINGS = ("text", "same", "other", "another")


@dataclass(frozen=True)
class Quadruplets(ItemSet):
    """Four texts of each item."""

    name: str
    columns: tuple[tuple[str, ...], ...]  # (item, text)
    item: ClassVar[str] = "quadruplet"

    @cached_property
    def digest(self) -> str:
        """The digest of all texts."""
        return digest_of(("quadruplets", *(text for row in self.columns for text in row)))

    @property
    def text_columns(self) -> dict[str, tuple[str, ...]]:
        """The texts by heading."""
        return dict(zip(HEADINGS, zip(*self.columns, strict=True), strict=True))


class QuadrupletJudge(JudgedSet[Quadruplets]):
    """The share whose text is nearer to the one that means the same than to both others."""

    data = Quadruplets
    in_words = "quadruplets"
    explained: ClassVar = {"first of three": "the share of texts that are nearest to what means the same, × 100."}
    shipped: ClassVar = {"made-up quadruplets": lambda: Quadruplets("made-up quadruplets", ROWS)}

    @classmethod
    def read(cls, source: str, online: bool) -> Quadruplets | None:
        """Read a file with these four columns."""
        table = read_file(source) if source.endswith(".csv") else None
        if table is None or tuple(table.columns) != HEADINGS:
            return None
        return Quadruplets(table.name, tuple(zip(*map(table.column, HEADINGS), strict=True)))

    def items(self, vectors: Tensor) -> Floats:
        """1 for each item whose second text is the nearest, else 0."""
        same, other, another = (self.cosines(vectors, 0, column) for column in (1, 2, 3))
        return (same > np.maximum(other, another)).astype(np.float64)


ROWS = (
    ("a dog is here", "the dog is there", "a child plays", "no boy walks"),
    ("nobody came", "no girl came", "two men sleep", "a dog runs"),
)
