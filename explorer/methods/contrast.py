"""Contrastive learning on pairs: multiple-negatives ranking with in-batch negatives.

Henderson and others 2017, section 4.4, on cosines and without a head: the loss of sentence-transformers'
MultipleNegativesRankingLoss, or with `symmetric` its MultipleNegativesSymmetricRankingLoss. Negatives are the positives
of the other rows; a sentence that occurs twice in a batch is not its own negative. With `hard_negatives`, the base is
searched before training for second texts that are near an anchor without being its positive.
"""

from __future__ import annotations

from explorer.data.row_kinds import PAIRS
from explorer.errors import BadChoice
from explorer.knobs import Values
from explorer.methods import Suggestion, knob
from explorer.methods._mining import Mining
from explorer.methods._ranking import Ranked


class ContrastPairs(Ranked):
    """Negatives: the other rows of the batch, and mined ones."""

    when_to_use = "Pairs that mean the same; those of SNLI gave a tuned encoder nothing, and [CLS] some points."
    eats = PAIRS
    suggestion = Suggestion(
        "pairs without scores", 2, "each sentence learns to find its partner among those of the other rows"
    )

    hard_negatives: int = knob(
        0,
        low=0,
        high=16,
        help="Hard negatives per row, mined from the second texts of the other rows: the nearest to the anchor under "
        "the base, within the window of ranks and the margin. A batch then has so many more texts per row. 0: none.",
    )
    first_rank: int = knob(
        1, low=1, high=1000, help="Hard negatives: the nearest rank that is taken; above 1, the closest are left out."
    )
    last_rank: int = knob(50, low=1, high=1000, help="Hard negatives: the farthest rank that is taken.")
    margin: float = knob(
        0.05,
        low=0.0,
        high=1.0,
        help="Hard negatives: a text is taken only if its cosine to the anchor is lower than the positive's by this "
        "share, since a closer one is probably a right answer that is not marked (a false negative).",
    )

    @classmethod
    def mining(cls, values: Values) -> Mining | None:
        """The window and the margin, if hard negatives are wanted."""
        negatives, first, last, margin = (
            values.get(name, cls.knobs[name].default)
            for name in ("hard_negatives", "first_rank", "last_rank", "margin")
        )
        if not negatives:
            return None
        if int(first) > int(last):
            raise BadChoice(
                f"first_rank cannot be {first} with last_rank {last}: no rank is between them. Set first_rank to "
                f"{last} or less, or raise last_rank."
            )
        return Mining(int(negatives), int(first), int(last), float(margin))

    @property
    def texts_of_a_row(self) -> int:
        """The number of texts of a row in a batch, with the mined ones."""
        return super().texts_of_a_row + self.hard_negatives
