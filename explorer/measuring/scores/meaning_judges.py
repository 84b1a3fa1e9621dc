"""Judge vectors by whether what means the same is nearer than what does not: in triplets, and in the probe packs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explorer.data.graded.probes import ProbePairs
from explorer.data.kinds import Triplets
from explorer.measuring.scores.bootstrap import LEVEL, RESAMPLES, Interval, mean_difference
from explorer.measuring.scores.correlation import SAME
from explorer.measuring.scores.judge import COSINE, Judge
from explorer.measuring.scores.pair_cosines import exact_cosines
from explorer.measuring.scores.verdict_text import ACCURACY, DISTINGUISHED

if TYPE_CHECKING:
    from torch import Tensor

Floats = NDArray[np.float64]


class TripletJudge(Judge):
    """Triplets: the share whose anchor is nearer to its positive than to its negative.

    An item is 1 for such a triplet, 0.5 for a tie, else 0.
    """

    measure = ACCURACY
    items_named = "triplet", "triplets"

    def __init__(self, triplets: Triplets) -> None:
        self.name, self.digest = triplets.name, triplets.digest
        self.texts = self.sentences = triplets.sentences
        self._anchors, self._positives, self._negatives = (
            _places(self.texts, column) for column in (triplets.anchors, triplets.positives, triplets.negatives)
        )

    def __len__(self) -> int:
        return len(self._anchors)

    def items(self, vectors: Tensor) -> Floats:
        """Whether each triplet is in the right order."""
        return in_order(self.alike(vectors), exact_cosines(vectors, self._anchors, self._negatives))

    def by_measure(self, vectors: Tensor) -> dict[str, Floats]:
        """Whether each triplet is in the right order, and the cosine of anchor and positive."""
        return {self.measure: self.items(vectors), COSINE: self.alike(vectors)}

    def score(self, items: Floats, precision: str = "float32") -> float:
        """The accuracy × 100."""
        return 100 * float(items.mean())

    def difference(self, one: Floats, other: Floats) -> Interval:
        """The interval is that of a paired bootstrap over triplets."""
        return mean_difference(one, other)

    def alike(self, vectors: Tensor) -> Floats:
        """The cosines of anchors and positives."""
        return exact_cosines(vectors, self._anchors, self._positives)


class ProbeJudge(Judge):
    """Probe packs: of all couples of a paraphrase and a pair of another meaning, how many have the higher cosine first.

    One half is chance. An item is the cosine of a pair.
    """

    measure = DISTINGUISHED

    def __init__(self, pairs: ProbePairs) -> None:
        self.name, self.digest = pairs.name, pairs.digest
        self.texts = self.sentences = pairs.sentences
        self._first, self._second = (_places(self.texts, column) for column in (pairs.first, pairs.second))
        self._same = np.array(pairs.same)

    def __len__(self) -> int:
        return len(self._same)

    def items(self, vectors: Tensor) -> Floats:
        """The cosine of each pair."""
        return exact_cosines(vectors, self._first, self._second)

    def score(self, items: Floats, precision: str = "float32") -> float:
        """The share of couples × 100."""
        return 100 * float(self._couples(items).mean())

    def difference(self, one: Floats, other: Floats) -> Interval:
        """The interval is that of a paired bootstrap over pairs, paraphrases and others each among themselves."""
        gaps = self._couples(other) - self._couples(one)
        random = np.random.default_rng(0)
        same, others = (random.multinomial(size, [1 / size] * size, RESAMPLES) for size in gaps.shape)
        drawn = 100 * ((same @ gaps) * others).sum(axis=1) / gaps.size
        low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        return Interval(np.asarray(100 * gaps.mean()), np.asarray(low), np.asarray(high))

    def alike(self, vectors: Tensor) -> Floats:
        """The cosines of the paraphrases."""
        cosines: Floats = self.items(vectors)[self._same]
        return cosines

    def _couples(self, items: Floats) -> Floats:
        """1 where a paraphrase (row) has a higher cosine than a pair of another meaning (column), 0.5 for a tie."""
        return in_order(items[self._same][:, None], items[~self._same][None, :])


def in_order(nearer: Floats, farther: Floats) -> Floats:
    """1 where a cosine that should be higher is, 0.5 where both are equal, else 0."""
    gaps = nearer - farther
    return np.where(np.abs(gaps) <= SAME, 0.5, (gaps > 0).astype(np.float64))


def _places(texts: tuple[str, ...], column: tuple[str, ...]) -> NDArray[np.intp]:
    place = {text: at for at, text in enumerate(texts)}
    return np.array([place[text] for text in column], dtype=np.intp)
