"""Cosine regression: train the cosine of a pair to equal its score, scaled to 0 to 1.

Reimers and Gurevych 2019 (Sentence-BERT), section 3, regression objective: the mean squared difference of cosine and
score, as sentence-transformers' CosineSimilarityLoss. Scores are scaled by the lowest and the highest score of
each training text: its lowest score becomes a cosine of 0, its highest a cosine of 1.
"""

from __future__ import annotations

from torch import Tensor

from explorer import losses
from explorer.methods import _papers
from explorer.methods._graded import Graded


class CosineRegression(Graded):
    """Trains the distances between scores, not only their order."""

    paper = _papers.SENTENCE_BERT

    def compared(self, cosine: Tensor, score: Tensor) -> Tensor:
        """The mean squared error over the rows."""
        return losses.cosine_regression(cosine, score)
