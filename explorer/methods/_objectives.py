"""Which sentence should find which? The three objectives of SimCSE, whatever makes vectors of sentences.

Gao, Yao and Chen 2021, equations 4 and 5, which layer-wise attention pooling takes over (its equations 6 to 8).
"""

from __future__ import annotations

from torch import Tensor

from explorer.gathering import gathered
from explorer.losses import info_nce, info_nce_hard
from explorer.methods import Method, knob


class Contrast(Method):
    """Every sentence should find its partner among those of the batch."""

    temperature: float = knob(
        0.05, low=0.001, high=1.0, front=True, help="Lower makes near misses cost more (paper, Table D.1: 0.05)."
    )

    def projected(self, sentences: list[str]) -> Tensor:
        """Sentences as the loss sees them (sentence, width)."""
        raise NotImplementedError

    def sides(self, *columns: list[str]) -> list[Tensor]:
        """The vectors of each column, of all processes; they are read in one pass."""
        together = self.projected([sentence for column in columns for sentence in column])
        return [gathered(side) for side in together.chunk(len(columns))]


class FindsItself(Contrast):
    """The partner is the sentence itself, under another dropout mask."""

    eats = "sentences"

    def loss(self, *columns: list[str]) -> Tensor:
        """Each sentence twice, each time with its own dropout."""
        (sentences,) = columns
        one, other = self.sides(sentences, sentences)
        self.watch(one, other)
        return info_nce(one, other, self.temperature)


class FindsPartner(Contrast):
    """The partner stands in the second column."""

    eats = "pairs"

    def loss(self, *columns: list[str]) -> Tensor:
        """First and second sentences."""
        one, other = self.sides(*columns)
        self.watch(one, other)
        return info_nce(one, other, self.temperature)


class FindsPartnerBesideOpposite(Contrast):
    """The partner stands in the second column, and what it must not be taken for in the third."""

    eats = "triplets"

    weight: float = knob(
        0.0,
        low=-100.0,
        high=100.0,
        front=True,
        help="Added to the logit of one's own hard negative (0 in SimCSE, 1 in the code of layer-wise attention).",
    )

    def loss(self, *columns: list[str]) -> Tensor:
        """Anchors, positives and negatives."""
        anchor, positive, negative = self.sides(*columns)
        self.watch(anchor, positive)
        return info_nce_hard(anchor, positive, negative, self.temperature, self.weight)
