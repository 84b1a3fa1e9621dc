"""SimCSE on triplets: as on pairs, with a contradiction as a hard negative per row.

Gao, Yao and Chen 2021, equation 5. `weight` is added to the logit of the row's own hard negative: 0 in SimCSE's code, 1
in that of layer-wise attention pooling. The trained model keeps the dense layer unless `keep_head` is off.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from explorer.knobs import Values
from explorer.methods import Schedule
from explorer.methods._objectives import FindsPartnerBesideOpposite
from explorer.methods._simcse import KeptDenseHead


class SimCSETriplets(KeptDenseHead, FindsPartnerBesideOpposite):
    """Negatives: the other rows of the batch, and the third column."""

    when_to_use = "Triplets, and [CLS] must be the vector; those of SNLI gave the model default nothing."
    schedule = Schedule(batch_size=512, learning_rate=5e-5, max_length=32, epochs=3, evaluate_every=125)
    by_family: ClassVar[Mapping[str, Values]] = {
        "BERT-large": {"learning_rate": 1e-5},
        "RoBERTa-large": {"learning_rate": 1e-5},
    }
