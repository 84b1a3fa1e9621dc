"""Classification: the whole encoder is fine-tuned with a classification layer on labelled texts.

Devlin, Chang, Lee and Toutanova 2019, section 4.1: dropout and one linear layer on the vector of the input, and the
cross-entropy of its classes. Two sentences are one input with token types. As the paper states it, the layer is put on
the pooled last layer; BERT's released code has its pre-trained pooler (dense, tanh) between the two. Batches of 32 and
3 epochs are the paper's; of its learning rates 5e-5, 4e-5, 3e-5 and 2e-5, which it chooses on the dev set, the lowest
is the default. Validation rows choose the best checkpoint, and its classes are scored on the test rows. The exported
model is the encoder; its folder also holds the classification layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from functools import cached_property
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from explorer.data.row_kinds import LABELLED_TEXTS
from explorer.encoding.read.batches import in_order
from explorer.encoding.read.sentence_pairs import Composer
from explorer.gathering import gathered
from explorer.losses import cosines
from explorer.methods import Autocast, Schedule, Suggestion, _classes, _papers, knob
from explorer.methods._pooled import Pooled
from explorer.progress import Progress, Work

AT_ONCE = 64  # rows that are classified together


class Classify(Pooled):
    """Cross-entropy of a linear layer on the pooled last layer."""

    when_to_use = "Labelled texts, to predict classes; judged by accuracy, so it was not measured on STS."
    eats = LABELLED_TEXTS
    paper = _papers.BERT
    suggestion = Suggestion("labelled sentences", 1, "it learns to predict their labels")
    compares_rows = False
    training_only: ClassVar[tuple[str, ...]] = ("classifier",)
    kept_for_scores: ClassVar[tuple[str, ...]] = ("classifier",)
    schedule = Schedule(
        batch_size=32, epochs=3, learning_rate=2e-5, max_length=128, warmup=0.1, weight_decay=0.01, epsilon=1e-6
    )

    classifier_dropout: float = knob(
        0.1, low=0.0, high=0.9, front=True, help="Dropout of the vector before the classification layer."
    )

    def build(self) -> None:
        """Build the classification layer, initialised as BERT's own weights."""
        self.classes = self.classes or ("0", "1")
        self.dropped = nn.Dropout(self.classifier_dropout)
        self.classifier = nn.Linear(self.before_normalising.width(self.base.width), len(self.classes))
        nn.init.normal_(self.classifier.weight, std=0.02)
        nn.init.zeros_(self.classifier.bias)

    @cached_property
    def composer(self) -> Composer:
        """What joins two sentences into one input."""
        return Composer(self.base.encoder)

    def loss(self, *columns: Any) -> Tensor:
        """The cross-entropy of texts, or of first and second sentences, and their labels, of all processes."""
        *texts, labels = columns
        vectors = self._vectors(texts)
        scores, wanted = (
            gathered(self.classifier(self.dropped(vectors))),
            gathered(_classes.numbers(labels, self.classes, vectors.device)),
        )
        self._watch_classes(gathered(vectors), wanted)
        return functional.cross_entropy(scores.float(), wanted)

    def predicted(self, texts: Sequence[Sequence[str]], autocast: Autocast = nullcontext) -> Work[tuple[str, ...]]:
        """The most likely class of each row, truncated as in training, without dropout."""
        learning, total = self.training, len(texts[0])
        found: list[str] = []
        self.eval()
        try:
            for start in range(0, total, AT_ONCE):
                with torch.no_grad(), autocast():
                    scores = self.classifier(self._vectors([column[start : start + AT_ONCE] for column in texts]))
                found += [self.classes[place] for place in scores.argmax(dim=1).tolist()]
                yield Progress("classifying", len(found), total)
        finally:
            self.train(learning)
        return tuple(found)

    def classification(self) -> dict[str, Tensor]:
        """The classification layer, with a row of weights for each class."""
        return {"weight": self.classifier.weight, "bias": self.classifier.bias}

    def _vectors(self, texts: Sequence[Sequence[str]]) -> Tensor:
        """Vectors (row, width) of texts, or of pairs as one input each."""
        head = self.before_normalising
        if len(texts) == 1:
            return self.encoded(list(texts[0]), head)
        first, second = texts
        inputs = self.composer.joined_pairs(first, second, self.base.max_length)
        return in_order((places, head(states.hidden, states.mask)) for places, states in self.base.composed(inputs))

    def _watch_classes(self, vectors: Tensor, classes: Tensor) -> None:
        """Record the mean similarity of two rows of the same class, and of rows of different classes."""
        with torch.no_grad():
            alike = cosines(vectors, vectors)
            same = classes[:, None] == classes[None, :]
            others = same.logical_not()
            same = same.logical_and(torch.eye(len(classes), device=same.device).logical_not())
            self.watched = (alike * same).sum() / same.sum(), (alike * others).sum() / others.sum()
