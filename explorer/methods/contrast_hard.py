"""Contrastive learning on triplets: multiple-negatives ranking with a hard negative per row.

Henderson and others 2017, section 4.4, with a hard negative for each row, as in
SimCSE's equation 5 (Gao, Yao and Chen 2021) but without a head: the loss of sentence-transformers'
MultipleNegativesRankingLoss on triplets. The hard negatives of other rows are negatives too.
"""

from __future__ import annotations

from explorer.data.row_kinds import TRIPLETS
from explorer.methods._ranking import Ranked


class ContrastTriplets(Ranked):
    """Negatives: the other rows of the batch, and the third column."""

    when_to_use = "Triplets; those of SNLI gave a tuned encoder nothing, and [CLS] some points."
    eats = TRIPLETS
    first = True
