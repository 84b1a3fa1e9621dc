"""Cosine regression: train the cosine of a pair to equal its score, scaled to 0 to 1.

Reimers and Gurevych 2019 (Sentence-BERT), section 3, regression objective: the mean squared difference of cosine and
score, as sentence-transformers' CosineSimilarityLoss. Scores are scaled by the lowest and the highest score of
each training text: its lowest score becomes a cosine of 0, its highest a cosine of 1. The paper trains in batches of
16 with the mean; Strata in batches of 32, as the other method on scored pairs.
"""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from explorer import losses
from explorer.knobs import Values
from explorer.methods import _papers
from explorer.methods._graded import Graded
from explorer.methods._pooled import pooling_knob


class CosineRegression(Graded):
    """Trains the distances between scores, not only their order."""

    when_to_use = "Scored pairs: as large a gain as by CoSENT, within its interval."
    paper = _papers.SENTENCE_BERT
    as_published = True
    compares_rows = False
    paper_schedule: ClassVar[Values] = {"batch_size": 16}

    pooling: str = pooling_knob("mean")

    def compared(self, cosine: Tensor, score: Tensor) -> Tensor:
        """The mean squared error over the rows."""
        return losses.cosine_regression(cosine, score)
