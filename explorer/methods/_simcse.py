"""What the SimCSE methods share: a dense layer over [CLS] that is trained along."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor, nn

from explorer.encoding.head import Dense, Head
from explorer.methods import TRAINED_POOLINGS, Method, _papers, knob


class DenseHead(Method):
    """Vectors are tanh(W h + b); whether W is kept after training is for each method to say."""

    paper = _papers.SIMCSE
    keeps_head: ClassVar[bool]

    pooling: str = knob(
        "cls", choices=TRAINED_POOLINGS, help="How the last layer becomes a vector, in training and after."
    )

    def build(self) -> None:
        """The dense layer, made up at random."""
        self.dense = nn.Linear(self.width, self.width)
        nn.init.normal_(self.dense.weight, std=0.02)
        nn.init.zeros_(self.dense.bias)

    def head(self) -> Head:
        """The pooled last layer, through the dense layer where it is kept."""
        return self._with_dense() if self.keeps_head else Head((self.pooling,))

    def projected(self, sentences: list[str]) -> Tensor:
        """Sentences as the loss sees them (sentence, width)."""
        return self.encoded(sentences, self._with_dense())

    def _with_dense(self) -> Head:
        return Head((self.pooling,), (Dense(self.dense.weight, self.dense.bias, "Tanh"),))
