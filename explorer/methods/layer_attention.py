"""Layer attention without labels: SimCSE on a vector pooled from every layer.

Oh, Kim, Lee, Huang and Lim 2022, equation 7 (Don't Judge a Language Model by Its Last Layer). Batch size and learning
rate are those of Table 4 for BERT-base; other settings are those of SimCSE.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from explorer.knobs import Values
from explorer.methods import Schedule
from explorer.methods._layer_attention import LayerAttended
from explorer.methods._objectives import FindsItself


class LayerAttentionAlone(LayerAttended, FindsItself):
    """Dropout and the pooler's random slopes are the noise."""

    when_to_use = "To study attention over layers; better than [CLS] before, and below the model default."
    schedule = Schedule(batch_size=64, learning_rate=3e-5, max_length=32, evaluate_every=125)
    by_family: ClassVar[Mapping[str, Values]] = {
        "RoBERTa-base": {"batch_size": 256, "learning_rate": 1e-5},
        "RoBERTa-large": {"batch_size": 256, "learning_rate": 3e-5},
    }
