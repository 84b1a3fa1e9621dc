"""Contrastive learning on pairs and on triplets: multiple-negatives ranking without a head.

Henderson and others 2017; batch size, learning rate and warmup are Strata's choice, since the paper trains another
encoder.
"""

from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor

from explorer.data.text_sets import PAIRS, TRIPLETS
from explorer.knobs import Values
from explorer.losses import ranking
from explorer.methods import DEMONSTRATION, InBatchNegatives, MinedNegatives, Suggestion, cited, knob


class MultipleNegativesRanking(InBatchNegatives):
    """Cross-entropy of cosines divided by a temperature; sentences of the same row are never negatives."""

    paper = cited("henderson-etal-2017-efficient")

    symmetric: bool = knob(
        False,
        front=True,
        help="Also classify the anchor given its positive, and average both directions. In this direction the "
        "negatives are the other anchors of the batch.",
    )

    def ranked(self, sides: list[Tensor], left_out: tuple[Tensor, ...]) -> Tensor:
        """Multiple-negatives ranking."""
        return ranking(sides[0], torch.cat(sides[1:]), self.temperature, self.symmetric, *left_out)


class ContrastPairs(MinedNegatives, MultipleNegativesRanking):
    """Contrastive learning on pairs: multiple-negatives ranking with in-batch negatives.

    Henderson and others 2017, section 4.4, on cosines and without a head: the loss of sentence-transformers'
    MultipleNegativesRankingLoss, or with `symmetric` its MultipleNegativesSymmetricRankingLoss. Negatives are the
    positives of the other rows; a sentence that occurs twice in a batch is not its own negative. With `hard_negatives`,
    the base is searched before training for second texts that are near an anchor without being its positive.
    """

    name = "contrast"
    when_to_use = "Pairs that mean the same; with SNLI, [CLS] improved and a tuned encoder did not."
    rows = PAIRS
    suggestion = Suggestion(
        "pairs without scores", 2, "each sentence learns to find its partner among those of the other rows"
    )

    @property
    def texts_of_a_row(self) -> int:
        """The number of texts of a row in a batch, with the mined ones."""
        return super().texts_of_a_row + self.hard_negatives


class ContrastTriplets(MultipleNegativesRanking):
    """Contrastive learning on triplets: multiple-negatives ranking with a hard negative per row.

    Henderson and others 2017, section 4.4, with a hard negative for each row, as in SimCSE's equation 5 (Gao, Yao and
    Chen 2021) but without a head: the loss of sentence-transformers' MultipleNegativesRankingLoss on triplets. The hard
    negatives of other rows are negatives too.
    """

    name = "contrast-hard"
    when_to_use = "Triplets; with SNLI, [CLS] improved and a tuned encoder did not."
    rows = TRIPLETS
    suggestion = Suggestion("triplets", 3, "each anchor learns to be nearer to its positive than to any negative")
    # found by measurement over five seeds; docs/results.md, "The demonstration", has the numbers
    presets: ClassVar[Mapping[str, Values]] = {
        DEMONSTRATION: {
            "steps": 70,
            "batch_size": 16,
            "learning_rate": 1e-4,
            "temperature": 0.1,
            "select_by": "both",
            "blend": 0.0,
        }
    }
