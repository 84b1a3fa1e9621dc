"""Layer attention with DiffCSE: detect replaced words from a vector pooled from every layer.

Oh, Kim, Lee, Huang and Lim 2022, Table 5: DiffCSE (Chuang and others 2022) without batch norm, its projector replaced
by attention over layers. Learning rate of the paper's Table 4; the trained model uses the pooler.
"""

from __future__ import annotations

from typing import ClassVar

from explorer.knobs import Values
from explorer.methods import Schedule, _papers
from explorer.methods._diffcse import Differing
from explorer.methods._layer_attention import LayerAttended


class LayerAttentionDiffCSE(LayerAttended, Differing):
    """The trained model's vector is the one that the discriminator uses."""

    when_to_use = "To study attention over layers: it gained more on [CLS] than DiffCSE alone."
    paper = _papers.LAYER_ATTENTION
    released: ClassVar[Values] = {**LayerAttended.released, **Differing.released}
    training_only = ("guesser", "detector", "tell")
    schedule = Schedule(batch_size=64, learning_rate=3e-5, max_length=32, epochs=2, evaluate_every=125)
