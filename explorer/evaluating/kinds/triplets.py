"""The kind of triplets: an anchor, a sentence that means the same, and one that does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from explorer.data import sample, sources
from explorer.data.text_sets import Triplets
from explorer.evaluating.kinds import JudgedSet
from explorer.measuring.scores.judge import COSINE, Floats
from explorer.measuring.scores.metrics import in_order

if TYPE_CHECKING:
    from torch import Tensor


class TripletJudge(JudgedSet[Triplets]):
    """Triplets: the share whose anchor is nearer to its positive than to its negative.

    An item is 1 for such a triplet, 0.5 for a tie, else 0.
    """

    data = Triplets
    in_words = "triplets"
    place = 3
    shipped: ClassVar = {
        sample.MINIMAL_PAIRS: sample.minimal_pairs,
        sample.MORE_MINIMAL_PAIRS: sample.more_minimal_pairs,
    }

    @classmethod
    def read(cls, source: str, online: bool) -> Triplets | None:
        """Read a file with three columns of sentences."""
        return sources.triplets(source)

    def items(self, vectors: Tensor) -> Floats:
        """Whether each triplet is in the right order."""
        return in_order(self.alike(vectors), self.cosines(vectors, 0, 2))

    def by_measure(self, vectors: Tensor) -> dict[str, Floats]:
        """Whether each triplet is in the right order, and the cosine of anchor and positive."""
        return {self.measure: self.items(vectors), COSINE: self.alike(vectors)}

    def alike(self, vectors: Tensor) -> Floats:
        """The cosines of anchors and positives."""
        return self.cosines(vectors, 0, 1)
