"""Layer attention on pairs: as SimCSE on pairs, with a vector of every layer.

Oh, Kim, Lee, Huang and Lim 2022, equation 6. Batch and rate are those of Table 4 for BERT-base; epochs, length and
looks those of the released code for triplets.
"""

from __future__ import annotations

from explorer.methods import Schedule
from explorer.methods._layer_attention import LayerAttended
from explorer.methods._objectives import FindsPartner


class LayerAttentionPairs(LayerAttended, FindsPartner):
    """Negatives come from the batch alone."""

    schedule = Schedule(batch_size=256, learning_rate=1e-5, max_length=64, epochs=3, evaluate_every=100)
