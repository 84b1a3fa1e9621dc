"""CoSENT: train cosines to have the same order as the scores of the pairs.

Su 2022: log(1 + sum of exp(scale × (cos_j - cos_i))) over all rows i and j of a batch with score i > score j. The loss
is that of sentence-transformers' CoSENTLoss. Only the order of the scores counts, so any scale can be used; rows with
equal scores are not compared, and a batch in which all are equal has no gradient.
"""

from __future__ import annotations

from torch import Tensor

from explorer import losses
from explorer.methods import Suggestion, _papers, knob
from explorer.methods._graded import Graded


class CoSENT(Graded):
    """Trains the ranking that Spearman's correlation measures."""

    when_to_use = "Scored pairs: the largest gain of all methods."
    paper = _papers.COSENT
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

    def compared(self, cosine: Tensor, score: Tensor) -> Tensor:
        """Compare every two rows with different scores."""
        return losses.cosent(cosine, score, self.scale)
