"""The kind of probe packs: paraphrases, and pairs with a small difference in meaning."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from explorer.data import sample
from explorer.evaluating.kinds import JudgedSet
from explorer.measuring.scores import bootstrap, metrics, power
from explorer.measuring.scores.judge import Floats

if TYPE_CHECKING:
    from torch import Tensor


class ProbeJudge(JudgedSet[sample.ProbePairs]):
    """Probe packs: of all couples of a paraphrase and a pair of another meaning, how many have the higher cosine first.

    One half is chance. An item is the cosine of a pair.
    """

    data = sample.ProbePairs
    in_words = "probe pairs"
    place = 4
    shipped: ClassVar = {sample.PROBE_PACKS: sample.probe_pairs}
    explained: ClassVar = {metrics.DISTINGUISHED: metrics.METRICS[metrics.DISTINGUISHED].help}

    @cached_property
    def gold(self) -> Floats:
        """1 for each paraphrase, 0 for another pair."""
        return np.array(self.given.same, dtype=np.float64)

    def items(self, vectors: Tensor) -> Floats:
        """The cosine of each pair."""
        return self.cosines(vectors)

    def score(self, items: Floats, precision: str = "float32") -> float:
        """The share of couples × 100."""
        return 100 * float(metrics.METRICS[self.measure].of_pairs(self.gold, items))

    def difference(self, one: Floats, other: Floats) -> bootstrap.Interval:
        """The interval is that of a paired bootstrap over pairs, paraphrases and others each among themselves."""
        return bootstrap.difference(self.gold, one, other, metric=self.measure)

    def spread(self, one: Floats, other: Floats, gap: bootstrap.Interval) -> power.Spread | None:
        """Not known: a couple is of two pairs, and a pair in many couples."""
        return None

    def alike(self, vectors: Tensor) -> Floats:
        """The cosines of the paraphrases."""
        cosines: Floats = self.items(vectors)[self.gold == 1]
        return cosines
