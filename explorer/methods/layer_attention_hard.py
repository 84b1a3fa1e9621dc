"""Layer attention on triplets: as SimCSE with hard negatives, with a vector of every layer.

Oh, Kim, Lee, Huang and Lim 2022, equation 8, and the objective of its Table 2. Batch and rate are those of Table 4 for
BERT-base, the rest is the released code's.
"""

from __future__ import annotations

from explorer.methods import Schedule
from explorer.methods._layer_attention import LayerAttended
from explorer.methods._objectives import FindsPartnerBesideOpposite


class LayerAttentionTriplets(LayerAttended, FindsPartnerBesideOpposite):
    """Negatives come from the batch, and from the third column."""

    schedule = Schedule(batch_size=256, learning_rate=2e-5, max_length=64, epochs=3, evaluate_every=100)
