"""Contrastive Tension in a batch: each of two copies finds the other's vector of a sentence.

Carlsson and others 2021 for the two copies; the loss is that of sentence-transformers' improved form, InfoNCE in both
directions between the copies, of cosines with a trained scale. Learning rate, warmup and dropout are those of its
example; the batch size is Strata's choice. The dev set chooses one of the copies at each evaluation.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from explorer import losses
from explorer.gathering import gathered
from explorer.methods import Schedule, Suggestion, knob
from explorer.methods._tension import Tension

SIMILARITIES = ("cosine", "dot product")


class InBatchTension(Tension):
    """Negatives are the other sentences of the batch, by the other copy."""

    when_to_use = "Only sentences and an encoder that is good already: without scores no method gained more."
    as_published = False
    suggestion = Suggestion("plain sentences", 1, "it needs neither pairs nor labels")
    schedule = Schedule(batch_size=64, learning_rate=5e-5, max_length=75, warmup=0.1, keep_duplicates=False)

    temperature: float = knob(
        0.05,
        low=0.001,
        high=10.0,
        front=True,
        help="Temperature at the start: similarities are divided by it. It is trained too. sentence-transformers takes "
        "0.05 with cosines, 1 with dot products.",
    )
    dropout: bool = knob(
        True,
        help="Use the encoder's dropout in training. Without it both copies get the same gradients, so that they stay "
        "one encoder.",
    )
    similarity: str = knob("cosine", choices=SIMILARITIES, help="What is compared: cosines or dot products.")

    def build(self) -> None:
        """Add the scale to the copies; its logarithm is trained."""
        super().build()
        self.scale = nn.Parameter(torch.tensor(-math.log(self.temperature)))

    def loss(self, *columns: list[str]) -> Tensor:
        """InfoNCE between the copies, in both directions."""
        (sentences,) = columns
        one, other = (gathered(self.by(copy, sentences)) for copy in (self.base, self.other))
        self.watch(one, other)
        return losses.tension_in_batch(one, other, self.scale.exp(), dot=self.similarity == "dot product")
