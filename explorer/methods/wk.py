"""WK: layers weighted word by word, and words by how much they change from layer to layer.

Wang and Kuo 2020 (SBERT-WK), equations 5 to 12: a word's layers count by how well they fit their neighbours and by
what they add to them. The paper takes the layers from 4 of BERT-base's 12. Nothing is learned.
"""

from __future__ import annotations

from explorer.encoding.read.head import Head
from explorer.encoding.read.word_weights import WordWeights
from explorer.methods import Method, Schedule, _papers, knob


class WK(Method):
    """A reading of an encoder as it is; the text is not looked at."""

    eats = "sentences"
    paper = _papers.SBERT_WK
    schedule = Schedule()

    first_layer: int = knob(
        4, low=0, high=1000, front=True, help="The lowest that counts (paper: 4 of 12); three layers at least do."
    )
    window: int = knob(2, low=1, high=32, front=True, help="Neighbours of a layer on either side (paper: 2).")
    whole_window: bool = knob(
        False, help="Give the lowest layers what neighbours they have below; in the released code they have none."
    )

    def build(self) -> None:
        """The encoder rests."""
        self.base.requires_grad_(False)

    def head(self) -> Head:
        """Words and layers, weighted."""
        first = max(0, min(self.first_layer, self.base.layers - 2))
        return Head((), layers=WordWeights(first, self.window, self.whole_window))

    def start(self) -> Head:
        """The mean of the last layer, which is what one would read otherwise."""
        return Head(("mean",))
