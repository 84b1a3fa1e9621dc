"""Plain contrastive learning on triplets: as on pairs, with a hard negative a row.

Multiple-negatives ranking (Henderson and others 2017, section 4.4) with a hard negative beside each positive, as in
SimCSE's equation 5 (Gao, Yao and Chen 2021) but without a head: the loss of sentence-transformers'
MultipleNegativesRankingLoss on triplets. The hard negatives of other rows are negatives too.
"""

from __future__ import annotations

from explorer.methods._ranking import Ranked


class ContrastTriplets(Ranked):
    """Negatives come from the batch, and from the third column."""

    eats = "triplets"
    first = True
