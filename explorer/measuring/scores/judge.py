"""Judge vectors by an evaluation set: a number for each of its items, a score over all, and differences of two."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explorer.data.kinds import GradedPairs
from explorer.measuring.scores import bootstrap
from explorer.measuring.scores.bootstrap import Interval
from explorer.measuring.scores.correlation import measured, spearman
from explorer.measuring.scores.pair_cosines import exact_cosines
from explorer.measuring.scores.verdict_text import SPEARMAN

if TYPE_CHECKING:
    from torch import Tensor

Floats = NDArray[np.float64]

RANK, COSINE = "rank", "cosine"  # of the right answer of an item: no scores, but what they come from


class Judge(ABC):
    """An evaluation set, and how the vectors of its texts are scored on it."""

    name: str
    digest: str  # of the content of the set
    texts: tuple[str, ...]  # what is encoded, each text once
    sentences: tuple[str, ...]  # the same without prompts
    measure: str  # the name of the score
    items_named: tuple[str, str] = ("pair", "pairs")  # one item, and several
    before: Judge | None = None  # how the base is judged as it is used, if not in the same way

    @abstractmethod
    def __len__(self) -> int:
        """The number of items: pairs, or queries."""

    @abstractmethod
    def items(self, vectors: Tensor) -> Floats:
        """What each item gets from the vectors (text, width)."""

    def by_measure(self, vectors: Tensor) -> dict[str, Floats]:
        """What each item gets by every measure of the set, the main one first, and what else there is to tell of it.

        `RANK` is the rank of its right answer, NaN if that is not found, and `COSINE` the cosine to it.
        """
        return {self.measure: self.items(vectors)}

    @property
    def is_settled(self) -> bool:
        """Whether it is ready to judge; if not, a part of it can be chosen by vectors first, which is quicker."""
        return True

    def settled(self, vectors: Tensor) -> Judge:
        """The judge with what is best for these vectors."""
        return self

    @abstractmethod
    def score(self, items: Floats, precision: str = "float32") -> float:
        """The score × 100; NaN if there is none, or if it is lost in the rounding of the precision."""

    @abstractmethod
    def difference(self, one: Floats, other: Floats) -> Interval:
        """The score of the `other` items minus that of the `one`, with its interval."""

    @abstractmethod
    def alike(self, vectors: Tensor) -> Floats:
        """The cosines of texts that belong together."""


class PairJudge(Judge):
    """Scored pairs: Spearman of cosines and gold scores. An item is the cosine of a pair."""

    measure = SPEARMAN

    def __init__(self, pairs: GradedPairs) -> None:
        self.name, self.digest = pairs.name, pairs.digest
        self.texts = self.sentences = pairs.sentences
        self._gold: Floats = np.array(pairs.gold)
        self._places = tuple(map(np.array, pairs.places))

    def __len__(self) -> int:
        return len(self._gold)

    def items(self, vectors: Tensor) -> Floats:
        """The cosine of each pair."""
        return exact_cosines(vectors, *self._places)

    def score(self, items: Floats, precision: str = "float32") -> float:
        """Spearman × 100."""
        return 100 * float(spearman(self._gold, measured(items, precision)))

    def difference(self, one: Floats, other: Floats) -> Interval:
        """The interval is that of a paired bootstrap over pairs."""
        return bootstrap.difference(self._gold, one, other)

    def alike(self, vectors: Tensor) -> Floats:
        """The cosines of pairs with a gold score in the top fifth: the papers take 4 on a scale from 0 to 5."""
        low, high = self._gold.min(), self._gold.max()
        cosines: Floats = self.items(vectors)[self._gold >= low + 0.8 * (high - low)]
        return cosines
