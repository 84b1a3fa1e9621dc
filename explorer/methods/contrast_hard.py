"""Contrastive learning on triplets: multiple-negatives ranking with a hard negative per row.

Henderson and others 2017, section 4.4, with a hard negative for each row, as in
SimCSE's equation 5 (Gao, Yao and Chen 2021) but without a head: the loss of sentence-transformers'
MultipleNegativesRankingLoss on triplets. The hard negatives of other rows are negatives too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from explorer.data.row_kinds import TRIPLETS
from explorer.knobs import Values
from explorer.methods import DEMONSTRATION, Suggestion
from explorer.methods._ranking import Ranked


class ContrastTriplets(Ranked):
    """Negatives: the other rows of the batch, and the third column."""

    when_to_use = "Triplets; those of SNLI gave a tuned encoder nothing, and [CLS] some points."
    eats = TRIPLETS
    suggestion = Suggestion("triplets", 3, "each anchor learns to be nearer to its positive than to any negative")
    # found by measurement over five seeds; docs/results.md, "The demonstration", has the numbers
    presets: ClassVar[Mapping[str, Values]] = {
        DEMONSTRATION: {
            "steps": 70,
            "batch_size": 16,
            "learning_rate": 1e-4,
            "temperature": 0.1,
            "select_by": "both",
        }
    }
    first = True
