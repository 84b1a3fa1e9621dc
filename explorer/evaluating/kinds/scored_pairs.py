"""The kind of scored pairs: two sentences and a human score, scored by a correlation, or by average precision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from explorer.data import sources
from explorer.data.text_sets import GradedPairs
from explorer.encoding.read.pooling import Reading
from explorer.evaluating.kinds import JudgedSet
from explorer.measuring.scores import bootstrap, correlation, in_use, metrics, power
from explorer.measuring.scores.judge import TOP_FIFTH, Floats
from explorer.measuring.scores.layer_scores import LayerScores
from explorer.measuring.scores.measure import Load, Settings, load_encoder, measure, shelf_key, stored_scores
from explorer.progress import Work

if TYPE_CHECKING:
    from torch import Tensor

    from explorer.encoding.locate.model_names import Found


class PairJudge(JudgedSet[GradedPairs]):
    """Scored pairs, by their main metric: Spearman, of two labels average precision. An item is a pair's cosine.

    They are scored in the chosen precision, and the cosines are stored.
    """

    data = GradedPairs
    in_words = "scored pairs"
    has_protocol = True
    explained: ClassVar = {}  # metrics are rows of a table
    place = 9  # any file that no other kind reads, so that the error says what a file needs

    @classmethod
    def read(cls, source: str, online: bool) -> GradedPairs:
        """Read a file with two columns of sentences and one of scores."""
        return sources.scored_pairs(source, online=online)[0]

    @cached_property
    def gold(self) -> Floats:
        """The gold scores."""
        return np.array(self.given.gold)

    @cached_property
    def measures(self) -> Sequence[str]:
        """The metrics of their gold scores."""
        return metrics.metrics_of(self.gold)

    def items(self, vectors: Tensor) -> Floats:
        """The cosine of each pair."""
        return self.cosines(vectors)

    def score(self, items: Floats, precision: str = "float32") -> float:
        """The main metric × 100."""
        measured = correlation.measured(items, precision)
        return 100 * float(metrics.METRICS[self.measure].of_pairs(self.gold, measured))

    @property
    def why_no_score(self) -> str:
        """Whether they are too few, or have gold scores that are all equal."""
        return metrics.why_no_score(self.gold, self.measure)

    def difference(self, one: Floats, other: Floats) -> bootstrap.Interval:
        """The difference in the main metric, with its interval."""
        return bootstrap.difference(self.gold, one, other, metric=self.measure)

    def spread(self, one: Floats, other: Floats, gap: bootstrap.Interval) -> power.Spread | None:
        """How much their difference in the main metric varies; None if one of them has no score."""
        return power.spread(self.gold, one, other, gap, (self.measure, "all"))

    def alike(self, vectors: Tensor) -> Floats:
        """The cosines of pairs with a gold score in the top fifth: the papers take 4 on a scale from 0 to 5."""
        low, high = self.gold.min(), self.gold.max()
        cosines: Floats = self.items(vectors)[self.gold >= low + TOP_FIFTH * (high - low)]
        return cosines

    def in_use(self, use: str, sides: Mapping[str, Floats]) -> dict[str, Floats]:
        """Of pairs with two labels which of them match, and the cosines."""
        if self.measure != metrics.AVERAGE_PRECISION:
            return {}
        found = {in_use.name(use, in_use.MATCH): (self.gold == self.gold.max()).astype(np.float64)}
        return found | {in_use.name(use, in_use.COSINE, side): items for side, items in sides.items()}

    def key(self, found: Found, settings: Settings) -> str:
        """The key of stored cosines."""
        return shelf_key(found, self.given, settings)

    def stored(self, found: Found, settings: Settings) -> LayerScores | None:
        """Cosines that are stored, or that ship; None if there are none."""
        return stored_scores(self.key(found, settings))

    def measured(
        self, found: Found, settings: Settings, load: Load = load_encoder, *, also: Sequence[Reading] = ()
    ) -> Work[LayerScores]:
        """Load stored cosines, or measure and store them."""
        return measure(found, self.given, settings, load, also=also)
