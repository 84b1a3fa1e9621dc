"""Base of Contrastive Tension: two copies of one encoder, both trained, of which the dev set chooses one.

Carlsson and others 2021. A sentence is encoded by both copies; without dropout they begin as one.
"""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from explorer.data.row_kinds import SENTENCES
from explorer.encoding.tune.tunable import Tunable
from explorer.methods import Paper, knob
from explorer.methods._pooled import Pooled, pooling_knob

FIRST, SECOND = "first copy", "second copy"


class Tension(Pooled):
    """Two copies without weights in common."""

    eats = SENTENCES
    paper = Paper(
        title="Semantic Re-tuning with Contrastive Tension",
        authors="Carlsson, Gyllensten, Gogoulou, Hellqvist and Sahlgren",
        year=2021,
        link="https://openreview.net/forum?id=Ov_sMNau-PF",
        bibtex="""@inproceedings{carlsson-etal-2021-semantic,
  title = {Semantic Re-tuning with Contrastive Tension},
  author = {Carlsson, Fredrik and Gyllensten, Amaru Cuba and Gogoulou, Evangelia and Ylip{\\"a}{\\"a} Hellqvist, Erik
            and Sahlgren, Magnus},
  booktitle = {Proceedings of ICLR 2021},
  year = {2021},
  url = {https://openreview.net/forum?id=Ov_sMNau-PF}
}""",
        family="contrastive tension",
    )
    training_only = ()

    dropout: bool = knob(
        False, help="Use the encoder's dropout in training, as sentence-transformers does; the released code has none."
    )
    pooling: str = pooling_knob("mean")

    def build(self) -> None:
        """Copy the encoder once more; both copies are trained."""
        self.other = self.base.another()

    def train(self, mode: bool = True) -> Tension:
        """Switch to training, with the encoder's dropout only if it is set."""
        super().train(mode)
        for copy in (self.base, self.other):
            copy.train(mode and self.dropout)
        return self

    def candidates(self) -> Mapping[str, Tunable]:
        """Both copies."""
        return {FIRST: self.base, SECOND: self.other}

    def by(self, copy: Tunable, sentences: list[str]) -> Tensor:
        """Vectors (sentence, width) of one copy, not normalised."""
        return self.encoded(sentences, self.before_normalising, copy=copy)
