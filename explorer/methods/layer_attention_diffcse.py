"""Layer attention with DiffCSE: the vector of every layer has to tell which words were replaced.

Oh, Kim, Lee, Huang and Lim 2022, Table 5: DiffCSE (Chuang and others 2022) without norms, its projector exchanged for
the attention over layers. The paper's rate of Table 4; a sentence is read through the pooler afterwards.
"""

from __future__ import annotations

from explorer.methods import Schedule, _papers
from explorer.methods._diffcse import Differing
from explorer.methods._layer_attention import LayerAttended


class LayerAttentionDiffCSE(LayerAttended, Differing):
    """What is read afterwards is what the discriminator was told by."""

    paper = _papers.LAYER_ATTENTION
    training_only = ("guesser", "detector", "tell")
    schedule = Schedule(batch_size=64, learning_rate=3e-5, max_length=32, epochs=2, evaluate_every=125)
