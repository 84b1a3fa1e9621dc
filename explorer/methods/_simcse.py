"""What the SimCSE methods share: a dense layer over the pooled vector, trained along."""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor, nn

from explorer.encoding.read.head import Dense, Head
from explorer.methods import _papers, knob
from explorer.methods._pooled import Pooled


class DenseHead(Pooled):
    """The loss sees tanh(W h + b) of the pooled vector h; what is read afterwards is h."""

    paper = _papers.SIMCSE

    def build(self) -> None:
        """The dense layer, made up at random."""
        width = self.pooled.width(self.width)
        self.dense = nn.Linear(width, width)
        nn.init.normal_(self.dense.weight, std=0.02)
        nn.init.zeros_(self.dense.bias)

    def projected(self, sentences: list[str]) -> Tensor:
        """Sentences as the loss sees them (sentence, width)."""
        return self.encoded(sentences, self.with_dense())

    def with_dense(self) -> Head:
        """The pooling and the dense layer."""
        pooled = self.pooled
        return replace(pooled, dense=(*pooled.dense, Dense(self.dense.weight, self.dense.bias, "Tanh")))


class KeptDenseHead(DenseHead):
    """The same with W as a part of the encoder afterwards, unless that is switched off."""

    keep_head: bool = knob(
        True,
        help="Keep the dense layer as a part of the encoder, as the paper does. It starts from random weights, which "
        "costs an encoder that was already tuned for similarity: all-MiniLM-L6-v2 scores 79.84 with it and 80.53 "
        "without on the sample's pairs before the first step, 76.74 and 77.70 after 80 steps of simcse-hard. off: the "
        "dense layer serves training only, and the exported model is read without it.",
    )

    def head(self) -> Head:
        """The pooling, through the dense layer where it is kept."""
        return self.with_dense() if self.keep_head else self.pooled
