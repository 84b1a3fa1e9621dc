"""Base of the SimCSE methods: a dense layer on the pooled vector, trained together with the encoder."""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor, nn

from explorer.encoding.read.head import Dense, Head
from explorer.methods import _papers, knob
from explorer.methods._pooled import Pooled


class DenseHead(Pooled):
    """The loss uses tanh(W h + b) of the pooled vector h; the trained model uses h."""

    paper = _papers.SIMCSE

    def build(self) -> None:
        """Build the dense layer, initialised at random."""
        width = self.pooled.width(self.width)
        self.dense = nn.Linear(width, width)
        nn.init.normal_(self.dense.weight, std=0.02)
        nn.init.zeros_(self.dense.bias)

    def projected(self, sentences: list[str]) -> Tensor:
        """The vectors (sentence, width) of the loss."""
        return self.encoded(sentences, self.with_dense())

    def with_dense(self) -> Head:
        """The pooling and the dense layer."""
        pooled = self.pooled
        return replace(pooled, dense=(*pooled.dense, Dense(self.dense.weight, self.dense.bias, "Tanh")))


class KeptDenseHead(DenseHead):
    """The same, but the trained model keeps the dense layer unless `keep_head` is off."""

    keep_head: bool = knob(
        True,
        help="Keep the dense layer in the exported model, as the paper does. It starts from random weights, which "
        "lowers the score of an encoder already tuned for similarity: all-MiniLM-L6-v2 scores 79.84 with it and "
        "80.53 without on the sample's pairs before the first step, 76.74 and 77.70 after 80 steps of simcse-hard. "
        "off: the dense layer is used in training only.",
    )

    def head(self) -> Head:
        """The pooling, through the dense layer where it is kept."""
        return self.with_dense() if self.keep_head else self.pooled
