"""Triplets that are mined in each batch of labelled texts (Hermans, Beyer and Leibe 2017)."""

from collections import Counter
from collections.abc import Sequence
from itertools import cycle
from typing import Any

import torch
from torch import Tensor

from explorer.data.text_sets import LABELLED_TEXTS, Corpus
from explorer.errors import BadChoice, TooFewRows
from explorer.gathering import gathered
from explorer.losses import distances, hardest_triplets, semi_hard_triplets
from explorer.methods import FittedClasses, Pooled, Sampler, Schedule, cited, knob, pooling_knob
from explorer.methods._class_layer import class_numbers

HARD, SOFT, SEMI_HARD = "hard", "soft margin", "semi-hard"
COSINE, EUCLIDEAN = "cosine", "euclidean"
FEWEST = 4  # rows of a batch: two of each of two classes


class SeveralOfAClass(Sampler):
    """Batches with several rows of each class that is drawn: so many of one class, then of the next.

    Classes are drawn in random order, each as often as the others, and the rows of a class are taken in turn: those of
    a small class more often than those of a large one. No row is in a batch twice.
    """

    def __init__(self, of_a_class: int) -> None:
        self.of_a_class = of_a_class

    def usable(self, corpus: Corpus) -> Sequence[int]:
        """The rows of classes that have at least two."""
        counts = Counter(corpus.labels)
        rows = [row for row, label in enumerate(corpus.labels) if counts[label] > 1]
        if len({corpus.labels[row] for row in rows}) < 2:
            raise TooFewRows(
                f"{corpus.name} has fewer than two classes with at least two rows to train on: a triplet takes two "
                "rows of one class and one of another. Use more rows, or raise rows."
            )
        alone = len(corpus) - len(rows)
        self.remark = f"{alone} left out: the only one{'s' * (alone > 1)} of their class" if alone else ""
        return rows

    def batches(self, corpus: Corpus, order: Sequence[int], size: int, random: torch.Generator) -> list[Sequence[int]]:
        """Batches of so many rows, class by class."""
        if size < FEWEST:
            raise BadChoice(
                f"batch_size cannot be {size}: a batch needs two rows of each of two classes. Set it to {FEWEST} or "
                "more."
            )
        rows: dict[str, list[int]] = {}
        for row in order:
            rows.setdefault(corpus.labels[row], []).append(row)
        names, turn = list(rows), Counter[str]()
        found: list[Sequence[int]] = []
        for _ in range(len(order) // size):
            batch: list[int] = []
            given: Counter[str] = Counter()
            for number in cycle(torch.randperm(len(names), generator=random).tolist()):
                name = names[number]
                left = size - len(batch)
                wanted = min(self.of_a_class, size // 2, left, len(rows[name]) - given[name])
                wanted -= left - wanted == 1 and wanted > 2  # a single row that is left would have no positive
                batch += [rows[name][(turn[name] + at) % len(rows[name])] for at in range(wanted)]
                turn[name] += wanted
                given[name] += wanted
                if len(batch) == size:
                    break
            found.append(batch)
        return found


class BatchHard(Pooled, FittedClasses):
    """Batch-hard triplets: the farthest text of a class becomes nearer than the nearest of another.

    Hermans, Beyer and Leibe 2017, section 2: a batch has K texts of each of several classes, and for each text the
    hardest positive and the hardest negative of the batch are a triplet. The margin is soft, as in the paper's best
    models; a hard one and semi-hard triplets (FaceNet, Schroff, Kalenichenko and Philbin 2015) are choices. The losses
    are those of sentence-transformers' BatchHardTripletLoss, BatchHardSoftMarginTripletLoss and
    BatchSemiHardTripletLoss, but for texts without a triplet, which do not count. The paper trains on images; Strata's
    default distance is 1 - cosine, which scores are of. After training a logistic layer is fitted to the vectors of the
    texts, as SetFit does, and is in the folder of the model. Validation rows choose the best checkpoint, and test rows
    are scored.
    """

    name = "batch-hard"
    family = "classification"
    paper = cited("hermans-etal-2017-in")
    when_to_use = "Labelled texts: on TREC as accurate as classify with 64 of each class, below SetFit with 8."
    rows = LABELLED_TEXTS
    as_published = False
    schedule = Schedule(batch_size=32, learning_rate=2e-5, max_length=128, warmup=0.1)

    triplets: str = knob(
        SOFT,
        choices=(SOFT, HARD, SEMI_HARD),
        front=True,
        help="hard: for each text the farthest of its class and the nearest of another one. soft margin: the same, "
        "with log(1 + e^x) in place of a margin, as in the paper's best models. semi-hard: for each two texts of a "
        "class the nearest of another one that is farther away than they are from each other.",
    )
    margin: float = knob(
        0.2,
        low=0.0,
        high=100.0,
        front=True,
        paper=5.0,
        help="How much farther the negative should be. Cosine distances are from 0 to 2; 5 in sentence-transformers, "
        "for Euclidean distances. With a soft margin it does nothing.",
    )
    distance: str = knob(
        COSINE,
        choices=(COSINE, EUCLIDEAN),
        paper=EUCLIDEAN,
        help="cosine: 1 - cosine. euclidean: of the vectors as they are used, which are of unit length if the model "
        "default normalises them.",
    )
    of_a_class: int = knob(
        4, low=2, high=1000, help="K: texts of one class that are drawn together, at most half of a batch."
    )
    dropout: bool = knob(True, help="Use the encoder's dropout in training.")
    pooling: str = pooling_knob()

    def sampler(self) -> Sampler:
        """Several rows of each class."""
        return SeveralOfAClass(self.of_a_class)

    def loss(self, *columns: Any) -> Tensor:
        """The mean over the triplets of all processes."""
        texts, labels = columns
        vectors = gathered(self.encode(texts))
        numbers = gathered(class_numbers(labels, self.classes or tuple(sorted(set(labels))), vectors.device))
        self.record_class_similarities(vectors, numbers)
        distance = distances(vectors, self.distance == EUCLIDEAN)
        if self.triplets == SEMI_HARD:
            return semi_hard_triplets(distance, numbers, self.margin)
        return hardest_triplets(distance, numbers, None if self.triplets == SOFT else self.margin)
