"""InfoNCE on sentences, on pairs and on triplets: the objectives of SimCSE, on whatever vectors a method makes.

Gao, Yao and Chen 2021, equations 4 and 5, which layer-wise attention pooling reuses (its equations 6 to 8).
"""

from torch import Tensor

from explorer.data.text_sets import PAIRS, SENTENCES, TRIPLETS
from explorer.gathering import gathered
from explorer.losses import info_nce, info_nce_hard
from explorer.methods import Method, knob


class InfoNCE(Method):
    """Classify the positive of every sentence among the sentences of the batch."""

    temperature: float = knob(
        0.05,
        low=0.001,
        high=1.0,
        front=True,
        help="Temperature. Lower penalises close negatives more (paper, Table D.1: 0.05).",
    )

    def projected(self, sentences: list[str]) -> Tensor:
        """The vectors (sentence, width) of the loss."""
        raise NotImplementedError

    def sides(self, *columns: list[str]) -> list[Tensor]:
        """The vectors of each column, of all processes, computed in one pass."""
        together = self.projected([sentence for column in columns for sentence in column])
        return [gathered(side) for side in together.chunk(len(columns))]


class InfoNCEOnSentences(InfoNCE):
    """The positive is the sentence itself, under another dropout mask."""

    rows = SENTENCES

    def loss(self, *columns: list[str]) -> Tensor:
        """The loss of each sentence, encoded twice with different dropout."""
        (sentences,) = columns
        one, other = self.sides(sentences, sentences)
        self.record_similarities(one, other)
        return info_nce(one, other, self.temperature)


class InfoNCEOnPairs(InfoNCE):
    """The positive is the second column."""

    rows = PAIRS

    def loss(self, *columns: list[str]) -> Tensor:
        """The loss of first and second sentences."""
        one, other = self.sides(*columns)
        self.record_similarities(one, other)
        return info_nce(one, other, self.temperature)


class InfoNCEOnTriplets(InfoNCE):
    """The positive is the second column, the hard negative the third."""

    rows = TRIPLETS

    weight: float = knob(
        0.0,
        low=-100.0,
        high=100.0,
        front=True,
        help="Added to the logit of the row's own hard negative.",
    )

    def loss(self, *columns: list[str]) -> Tensor:
        """The loss of anchors, positives and hard negatives."""
        anchor, positive, negative = self.sides(*columns)
        self.record_similarities(anchor, positive)
        return info_nce_hard(anchor, positive, negative, self.temperature, self.weight)
