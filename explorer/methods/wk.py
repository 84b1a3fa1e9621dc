"""WK (SBERT-WK): weight layers word by word, and words by how much they change across layers.

Wang and Kuo 2020 (SBERT-WK), equations 5 to 12: a word's layers are weighted by how well they align with neighbouring
layers and by what they add to them. The paper uses the layers from 4 of BERT-base's 12. No training.
"""

from __future__ import annotations

from typing import ClassVar

from explorer.data.row_kinds import SENTENCES
from explorer.encoding.read.head import Head
from explorer.encoding.read.parts.word_weights import WordWeights
from explorer.knobs import Values
from explorer.methods import Method, Schedule, _papers, knob


class WK(Method):
    """A pooling over layers; no weights are trained, and the text is not used."""

    when_to_use = "To repeat the paper: on this tuned encoder it lost points."
    eats = SENTENCES
    paper = _papers.SBERT_WK
    schedule = Schedule()
    released: ClassVar[Values] = {"whole_window": False}

    first_layer: int = knob(
        4, low=0, high=1000, front=True, help="The lowest layer used (paper: 4 of 12); at least three layers are used."
    )
    window: int = knob(2, low=1, high=32, front=True, help="Neighbouring layers on either side (paper: 2).")
    whole_window: bool = knob(
        False, paper=True, help="Use the neighbours below the lowest layers too; the released code does not."
    )

    def build(self) -> None:
        """Freeze the encoder."""
        self.base.requires_grad_(False)

    def head(self) -> Head:
        """The pooling with weighted words and layers."""
        first = max(0, min(self.first_layer, self.base.layers - 2))
        return Head((), layers=WordWeights(first, self.window, self.whole_window))

    def start(self) -> Head:
        """The mean of the last layer, which is what one would read otherwise."""
        return Head(("mean",))
