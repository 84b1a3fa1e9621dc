"""Training on scored pairs: CoSENT and cosine regression, two losses of each pair's cosine and score.

Learning rate and warmup are those of Sentence-BERT; the batch size is Strata's choice.
"""

from typing import Any, ClassVar

import torch
from torch import Tensor

from explorer import losses
from explorer.data.text_sets import SCORED_PAIRS
from explorer.gathering import gathered
from explorer.knobs import Values
from explorer.methods import Pooled, Schedule, Suggestion, cited, knob, pooling_knob


class ScoredPairsLoss(Pooled):
    """A loss of cosines and scores, without a head."""

    family = "scored pairs"
    rows = SCORED_PAIRS
    schedule = Schedule(batch_size=32, learning_rate=2e-5, max_length=128, warmup=0.1)

    pooling: str = pooling_knob()

    def of_cosines(self, cosine: Tensor, score: Tensor) -> Tensor:
        """The loss of the cosines of pairs and their scores from 0 to 1."""
        raise NotImplementedError

    def loss(self, *columns: Any) -> Tensor:
        """First and second sentences in one pass, with their scores, of all processes."""
        first, second, scores = columns
        one, other = (gathered(side) for side in self.encode([*first, *second]).chunk(2))
        self.record_similarities(one, other)
        gold = torch.tensor(scores).to(one.device, non_blocking=True)  # given a device, torch.tensor waits for it
        return self.of_cosines(losses.paired_cosines(one, other), gathered(gold))


class CoSENT(ScoredPairsLoss):
    """CoSENT: train cosines to have the same order as the scores of the pairs.

    Su 2022: log(1 + sum of exp(scale × (cos_j - cos_i))) over all rows i and j of a batch with score i > score j. The
    loss is that of sentence-transformers' CoSENTLoss. Only the order of the scores counts, so any scale can be used;
    rows with equal scores are not compared, and a batch in which all are equal has no gradient.
    """

    name = "cosent"
    when_to_use = "Scored pairs: the largest gain of all methods."
    paper = cited("kexuefm-8847")
    as_published = False
    suggestion = Suggestion("scored pairs", 2, "cosines learn the order of the scores, which Spearman measures")

    scale: float = knob(
        5.0,
        low=1.0,
        high=1000.0,
        front=True,
        paper=20.0,
        help="Differences of cosines are multiplied by it. The higher it is, the more the loss depends on the few "
        "pairs most out of order. 20 in the source and in sentence-transformers; 5 is chosen on STS-B dev, where "
        "all-MiniLM-L6-v2 reaches 89.3 with 5 and 87.4 with 20 (86.7 before).",
    )

    def of_cosines(self, cosine: Tensor, score: Tensor) -> Tensor:
        """Compare every two rows with different scores."""
        return losses.cosent(cosine, score, self.scale)


class CosineRegression(ScoredPairsLoss):
    """Cosine regression: train the cosine of a pair to equal its score, scaled to 0 to 1.

    Reimers and Gurevych 2019 (Sentence-BERT), section 3, regression objective: the mean squared difference of cosine
    and score, as sentence-transformers' CosineSimilarityLoss. Scores are scaled by the lowest and the highest score of
    each training text: its lowest score becomes a cosine of 0, its highest a cosine of 1. The paper trains in batches
    of 16 with the mean; Strata in batches of 32, as the other method on scored pairs.
    """

    # trains the distances between scores, not only their order
    name = "cosine-regression"
    when_to_use = "Scored pairs: as large a gain as by CoSENT, within its interval."
    paper = cited("reimers-gurevych-2019-sentence")
    compares_rows = False
    paper_schedule: ClassVar[Values] = {"batch_size": 16}

    pooling: str = pooling_knob("mean")

    def of_cosines(self, cosine: Tensor, score: Tensor) -> Tensor:
        """The mean squared error over the rows."""
        return losses.cosine_regression(cosine, score)
