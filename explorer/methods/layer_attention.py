"""Layer attention without labels: as SimCSE, with a vector of every layer.

Oh, Kim, Lee, Huang and Lim 2022, equation 7 (Don't Judge a Language Model by Its Last Layer). Batch and rate are those
of Table 4 for BERT-base; what it leaves open is that of SimCSE.
"""

from __future__ import annotations

from explorer.methods import Schedule
from explorer.methods._layer_attention import LayerAttended
from explorer.methods._objectives import FindsItself


class LayerAttentionAlone(LayerAttended, FindsItself):
    """Learns from dropout, and from the slopes that the pooler draws."""

    schedule = Schedule(batch_size=64, learning_rate=3e-5, max_length=32, evaluate_every=125)
