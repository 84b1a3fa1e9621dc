"""SimCSE on pairs: a sentence and one that it entails are a positive pair.

Gao, Yao and Chen 2021, section 4: premise and entailed hypothesis, the others of the batch as negatives. The trained
model keeps the dense layer unless `keep_head` is off.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from explorer.knobs import Values
from explorer.methods import Schedule
from explorer.methods._objectives import FindsPartner
from explorer.methods._simcse import KeptDenseHead


class SimCSEPairs(KeptDenseHead, FindsPartner):
    """Negatives: the other rows of the batch."""

    when_to_use = "Pairs, and [CLS] must be the vector; those of SNLI gave the model default nothing."
    schedule = Schedule(batch_size=512, learning_rate=5e-5, max_length=32, epochs=3, evaluate_every=125)
    by_family: ClassVar[Mapping[str, Values]] = {
        "BERT-large": {"learning_rate": 1e-5},
        "RoBERTa-large": {"learning_rate": 1e-5},
    }
