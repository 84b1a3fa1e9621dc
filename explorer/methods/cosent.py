"""CoSENT: pairs with a higher score should have a higher cosine, whatever the scores are.

Su 2022: log(1 + sum of exp(scale × (cos_j - cos_i))) over all rows i and j of a batch with score i > score j. The loss
is that of sentence-transformers' CoSENTLoss. Only the order of the scores counts, so any scale will do; rows with equal
scores are not compared, and a batch in which all are equal teaches nothing.
"""

from __future__ import annotations

from torch import Tensor

from explorer import losses
from explorer.methods import _papers, knob
from explorer.methods._graded import Graded


class CoSENT(Graded):
    """Learns the ranking that Spearman's correlation measures."""

    paper = _papers.COSENT

    scale: float = knob(
        20.0,
        low=1.0,
        high=1000.0,
        front=True,
        help="Differences of cosines are multiplied by it; higher makes pairs in the wrong order cost more (blog and "
        "sentence-transformers: 20).",
    )

    def compared(self, cosine: Tensor, score: Tensor) -> Tensor:
        """Every two rows with different scores."""
        return losses.cosent(cosine, score, self.scale)
