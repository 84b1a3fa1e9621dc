"""Plain contrastive learning on pairs: a sentence should find its partner among those of the batch.

Multiple-negatives ranking (Henderson and others 2017, section 4.4) of cosines, without a head: the loss is that of
sentence-transformers' MultipleNegativesRankingLoss, or with `symmetric` its MultipleNegativesSymmetricRankingLoss.
Negatives are the partners of the other rows; a sentence that occurs twice in a batch is not its own negative.
"""

from __future__ import annotations

from explorer.methods._ranking import Ranked


class ContrastPairs(Ranked):
    """Negatives come from the batch alone."""

    eats = "pairs"
