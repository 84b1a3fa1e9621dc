"""Training on labels and scores: BERT fine-tuned to classify, Sentence-BERT's classifier, and losses of scored pairs.

The first two minimise the cross-entropy of a linear layer on labelled texts; only the first one predicts classes
afterwards. CoSENT, AnglE and cosine regression are losses of the similarity and the score of each pair; their learning
rate and warmup are those of Sentence-BERT, the batch size is Strata's choice.
"""

from collections.abc import Sequence
from contextlib import nullcontext
from functools import cached_property
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from explorer import losses
from explorer.data.text_sets import LABELLED_TEXTS, SCORED_PAIRS, Corpus
from explorer.encoding.read.batching import in_order
from explorer.encoding.read.sentence_pairs import Composer
from explorer.errors import WrongColumns
from explorer.gathering import gathered
from explorer.knobs import Values
from explorer.methods import Autocast, ClassLayer, Schedule, Suggestion, cited, knob
from explorer.methods._additions import Pooled, PredictedClasses, UncorrectedAdam, pooling_knob
from explorer.methods._class_layer import class_numbers
from explorer.progress import Progress, Work

AT_ONCE = 64  # rows that are classified together
TWO = ("0", "1")  # classes, where nothing says which


class Classify(Pooled, PredictedClasses):
    """Classification: the whole encoder is fine-tuned with a classification layer on labelled texts.

    Devlin, Chang, Lee and Toutanova 2019, section 4.1: dropout and one linear layer on the vector of the input, and the
    cross-entropy of its classes. Two sentences are one input with token types. As the paper states it, the layer is put
    on the pooled last layer; BERT's released code has its pre-trained pooler (dense, tanh) between the two. Batches of
    32 and 3 epochs are the paper's; of its learning rates 5e-5, 4e-5, 3e-5 and 2e-5, which it chooses on the dev set,
    the lowest is the default. Validation rows choose the best checkpoint, and its classes are scored on the test rows.
    The exported model is the encoder; its folder also holds the classification layer.
    """

    name = "classify"
    family = "classification"
    paper = cited("devlin-etal-2019-bert")
    when_to_use = "Labelled texts, to predict classes; judged by accuracy, so it was not measured on STS."
    rows = LABELLED_TEXTS
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
        self.classes = self.classes or TWO
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
        scores = gathered(self.classifier(self.dropped(vectors)))
        numbers = gathered(class_numbers(labels, self.classes, vectors.device))
        self.record_class_similarities(gathered(vectors), numbers)
        return functional.cross_entropy(scores.float(), numbers)

    def predicted(self, texts: Sequence[Sequence[str]], autocast: Autocast = nullcontext) -> Work[tuple[str, ...]]:
        """The most likely class of each row, truncated as in training, without dropout."""
        training, total = self.training, len(texts[0])
        found: list[str] = []
        self.eval()
        try:
            for start in range(0, total, AT_ONCE):
                with torch.no_grad(), autocast():
                    scores = self.classifier(self._vectors([column[start : start + AT_ONCE] for column in texts]))
                found += [self.classes[place] for place in scores.argmax(dim=1).tolist()]
                yield Progress("classifying", len(found), total)
        finally:
            self.train(training)
        return tuple(found)

    def classification(self) -> ClassLayer:
        """The trained layer."""
        return ClassLayer(self.classifier.weight, self.classifier.bias, self.classes)

    def _vectors(self, texts: Sequence[Sequence[str]]) -> Tensor:
        """Vectors (row, width) of texts, or of pairs as one input each."""
        head = self.before_normalising
        if len(texts) == 1:
            return self.encode(list(texts[0]), head)
        first, second = texts
        ids, types = self.composer.joined_pairs(first, second, self.base.max_length)
        passes = self.base.grouped_tokens(ids, types)
        return in_order((places, head(states.hidden, states.mask)) for places, states in passes)


class SBERT(UncorrectedAdam, Pooled):
    """SBERT on NLI: a classifier of two sentence vectors and of their difference, on labelled pairs.

    Reimers and Gurevych 2019 (Sentence-BERT), section 3, classification objective: u and v are the pooled vectors of
    the two sentences, by one encoder, and the classes are predicted from u, v and |u - v|. The paper trains on SNLI and
    MultiNLI, with three classes; any labelled pairs will do, and triplets give two. The classifier is for training
    only: the exported vector is the pooled one, and the dev set of scored pairs chooses the checkpoint. As in the
    released code, the classifier has a bias, which the paper's equation has not, and all rows are trained on.
    """

    name = "sbert-nli"
    family = "labelled pairs"
    paper = cited("reimers-gurevych-2019-sentence")
    when_to_use = "Pairs with classes, as in NLI; two classes, from triplets, gave a tuned encoder nothing."
    rows = LABELLED_TEXTS
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
        self.classes = self.classes or TWO
        self.classifier = nn.Linear(3 * self.before_normalising.width(self.width), len(self.classes))

    def loss(self, *columns: Any) -> Tensor:
        """The cross-entropy of first and second sentences, encoded in one pass, and their labels, of all processes."""
        first, second, labels = columns
        vectors = self.encode([*first, *second], self.before_normalising)
        one, other = (gathered(side) for side in vectors.chunk(2))
        self.record_similarities(one, other)
        numbers = gathered(class_numbers(labels, self.classes, one.device))
        return functional.cross_entropy(self.classifier(with_difference(one, other)).float(), numbers)


def with_difference(first: Tensor, second: Tensor) -> Tensor:
    """What the classes are predicted from: u, v and the size of their difference (row, 3 × width)."""
    return torch.cat([first, second, (first - second).abs()], dim=1)


class ScoredPairsLoss(Pooled):
    """A loss of the similarities and the scores of pairs, without a head."""

    family = "scored pairs"
    rows = SCORED_PAIRS
    schedule = Schedule(batch_size=32, learning_rate=2e-5, max_length=128, warmup=0.1)

    pooling: str = pooling_knob()

    def similarity(self, first: Tensor, second: Tensor) -> Tensor:
        """The similarity of each row of one side with the same row of the other: the cosine."""
        return losses.paired_cosines(first, second)

    def of_similarities(self, similarity: Tensor, score: Tensor) -> Tensor:
        """The loss of the similarities of pairs and their scores from 0 to 1."""
        raise NotImplementedError

    def loss(self, *columns: Any) -> Tensor:
        """First and second sentences in one pass, with their scores, of all processes."""
        first, second, scores = columns
        one, other = (gathered(side) for side in self.encode([*first, *second]).chunk(2))
        self.record_similarities(one, other)
        gold = torch.tensor(scores).to(one.device, non_blocking=True)  # given a device, torch.tensor waits for it
        return self.of_similarities(self.similarity(one, other), gathered(gold))


def _scale_knob(differences: str, source: str) -> float:
    """How much the loss depends on the pairs most out of order; `source` says where the value is from."""
    return knob(
        5.0,
        low=1.0,
        high=1000.0,
        front=True,
        paper=20.0,
        help=f"{differences} are multiplied by it. The higher it is, the more the loss depends on the few pairs most "
        f"out of order. {source}",
    )


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
    suggestion: ClassVar[Suggestion | None] = Suggestion(
        "scored pairs", 2, "cosines learn the order of the scores, which Spearman measures"
    )

    scale: float = _scale_knob(
        "Differences of cosines",
        "20 in the source and in sentence-transformers; 5 is chosen on STS-B dev, where all-MiniLM-L6-v2 reaches 89.3 "
        "with 5 and 87.4 with 20 (86.7 before).",
    )

    def of_similarities(self, similarity: Tensor, score: Tensor) -> Tensor:
        """Compare every two rows with different scores."""
        return losses.cosent(similarity, score, self.scale)


class AnglE(CoSENT):
    """AnglE: train similarities in the complex plane to have the same order as the scores of the pairs.

    Li and Li 2024: the loss of CoSENT, on |cosine + sine| in place of the cosine, since the slope of a cosine vanishes
    near 1 and -1. The halves of a vector are the real and the imaginary parts; the sine is the imaginary part of the
    product of the two vectors, and changes its sign if they change places. The loss is that of sentence-transformers'
    AnglELoss. The paper adds CoSENT and in-batch negatives to it; the scores of the trained model are cosines.
    """

    name = "angle"
    when_to_use = "Scored pairs: as large a gain as by CoSENT (three seeds)."
    paper = cited("li-li-2024-aoe")
    suggestion = None

    scale: float = _scale_knob(
        "Differences of similarities",
        "20 in sentence-transformers; 5 is chosen on STS-B dev, where all-MiniLM-L6-v2 gets 89.0 with 5, 88.6 with 2 "
        "and 87.6 with 20 in 200 updates (86.7 before).",
    )

    def similarity(self, first: Tensor, second: Tensor) -> Tensor:
        """The size of cosine plus sine."""
        return losses.angle_similarities(first, second)


class CosineRegression(ScoredPairsLoss):
    """Cosine regression: train the cosine of a pair to equal its score, scaled to 0 to 1.

    Reimers and Gurevych 2019 (Sentence-BERT), section 3, regression objective: the mean squared difference of cosine
    and score, as sentence-transformers' CosineSimilarityLoss. Scores are scaled by the lowest and the highest score of
    each training text: its lowest score becomes a cosine of 0, its highest a cosine of 1. The paper trains in batches
    of 16 with the mean; Strata in batches of 32, as the other methods on scored pairs.
    """

    # trains the distances between scores, not only their order
    name = "cosine-regression"
    when_to_use = "Scored pairs: as large a gain as by CoSENT, within its interval."
    paper = cited("reimers-gurevych-2019-sentence")
    compares_rows = False
    paper_schedule: ClassVar[Values] = {"batch_size": 16}

    pooling: str = pooling_knob("mean")

    def of_similarities(self, similarity: Tensor, score: Tensor) -> Tensor:
        """The mean squared error over the rows."""
        return losses.cosine_regression(similarity, score)
