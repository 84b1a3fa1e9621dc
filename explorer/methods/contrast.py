"""Contrastive learning on pairs: multiple-negatives ranking with in-batch negatives.

Henderson and others 2017, section 4.4, on cosines and without a head: the loss of sentence-transformers'
MultipleNegativesRankingLoss, or with `symmetric` its MultipleNegativesSymmetricRankingLoss. Negatives are the positives
of the other rows; a sentence that occurs twice in a batch is not its own negative.
"""

from __future__ import annotations

from explorer.data.row_kinds import PAIRS
from explorer.methods._ranking import Ranked


class ContrastPairs(Ranked):
    """Negatives: the other rows of the batch."""

    eats = PAIRS
