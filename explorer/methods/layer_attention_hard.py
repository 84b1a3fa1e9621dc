"""Layer attention on triplets: SimCSE with hard negatives on a vector pooled from every layer.

Oh, Kim, Lee, Huang and Lim 2022, equation 8, and the objective of its Table 2. Batch size and learning rate are those
of Table 4 for BERT-base, the rest those of the released code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from explorer.knobs import Values
from explorer.methods import Schedule
from explorer.methods._layer_attention import LayerAttended
from explorer.methods._objectives import FindsPartnerBesideOpposite
from explorer.methods._suggestion import UNEVEN


class LayerAttentionTriplets(LayerAttended, FindsPartnerBesideOpposite):
    """Negatives: the other rows of the batch, and the third column."""

    when_to_use = "To study attention over layers on triplets; better than [CLS] before, below the model default."
    schedule = Schedule(batch_size=256, learning_rate=2e-5, max_length=64, epochs=3, evaluate_every=100)
    by_family: ClassVar[Mapping[str, Values]] = {
        "RoBERTa-base": {"learning_rate": 3e-5},
        "RoBERTa-large": {"learning_rate": 5e-5},
    }
    released: ClassVar[Values] = {**LayerAttended.released, "weight": 1.0}
    # found by measurement; docs/results.md, "Layer weights", has the numbers
    presets: ClassVar[Mapping[str, Values]] = {
        UNEVEN: {
            "pooler": "attention of cls to mean",
            "attention_width": 64,
            "steps": 200,
            "batch_size": 16,
            "learning_rate": 1e-3,
            "temperature": 0.1,
            "select_by": "both",
            "lora_rank": 1,
        }
    }
