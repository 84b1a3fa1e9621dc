"""SBERT on NLI: a classifier of two sentence vectors and of their difference, on labelled pairs.

Reimers and Gurevych 2019 (Sentence-BERT), section 3, classification objective: u and v are the pooled vectors of the
two sentences, by one encoder, and the classes are predicted from u, v and |u - v|. The paper trains on SNLI and
MultiNLI, with three classes; any labelled pairs will do, and triplets give two. The classifier is for training only:
the exported vector is the pooled one, and the dev set of scored pairs chooses the checkpoint. As in the released code,
the classifier has a bias, which the paper's equation has not, and all rows are trained on.
"""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from explorer.data.corpora import Corpus
from explorer.data.row_kinds import LABELLED_TEXTS
from explorer.errors import WrongColumns
from explorer.gathering import gathered
from explorer.knobs import Values
from explorer.methods import Schedule, Suggestion, _classes, _papers
from explorer.methods._pooled import Pooled, pooling_knob
from explorer.methods._uncorrected import Uncorrected


class SBERT(Uncorrected, Pooled):
    """Cross-entropy of a linear layer on [u; v; |u - v|]."""

    when_to_use = "Pairs with classes, as in NLI; two classes, from triplets, gave a tuned encoder nothing."
    eats = LABELLED_TEXTS
    paper = _papers.SENTENCE_BERT_ON_LABELS
    suggestion = Suggestion("labelled pairs", 2, "a pair's class is predicted from the vectors of its two sentences")
    compares_rows = False
    training_only = ("classifier",)
    unused: ClassVar[tuple[str, ...]] = ("validate_by",)  # no classes are predicted afterwards
    schedule = Schedule(
        batch_size=16,
        learning_rate=2e-5,
        max_length=128,
        warmup=0.1,
        weight_decay=0.01,
        epsilon=1e-6,
        evaluate_every=1000,
    )
    released: ClassVar[Values] = {"uncorrected_adam": True}

    pooling: str = pooling_knob("mean")

    @classmethod
    def check_rows(cls, corpus: Corpus) -> None:
        """Refuse rows of one sentence."""
        if len(corpus.texts) != 2:
            raise WrongColumns(
                f"{corpus.name} has one sentence per row: SBERT compares two sentences. Name the column of the second "
                "one (second=…), or choose labelled pairs such as those of NLI."
            )

    def build(self) -> None:
        """Build the classifier, initialised at random."""
        self.classes = self.classes or ("0", "1")
        self.classifier = nn.Linear(3 * self.before_normalising.width(self.width), len(self.classes))

    def loss(self, *columns: Any) -> Tensor:
        """The cross-entropy of first and second sentences, encoded in one pass, and their labels, of all processes."""
        first, second, labels = columns
        vectors = self.encoded([*first, *second], self.before_normalising)
        one, other = (gathered(side) for side in vectors.chunk(2))
        self.watch(one, other)
        wanted = gathered(_classes.numbers(labels, self.classes, one.device))
        return functional.cross_entropy(self.classifier(compared(one, other)).float(), wanted)


def compared(one: Tensor, other: Tensor) -> Tensor:
    """What the classes are predicted from: u, v and the size of their difference (row, 3 × width)."""
    return torch.cat([one, other, (one - other).abs()], dim=1)
