"""SetFit: an encoder is tuned on pairs of labelled texts, and a logistic layer is fitted to its vectors."""

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor

from explorer import losses
from explorer.data.text_sets import LABELLED_TEXTS, Corpus
from explorer.errors import TooFewRows
from explorer.gathering import gathered
from explorer.knobs import Values
from explorer.methods import FittedClasses, Pooled, Sampler, Schedule, Suggestion, cited, knob, pooling_knob


class LabelPairs(Sampler):
    """Pairs of rows, drawn by their labels: in each round every row has a partner of its class and one of another.

    As in the released code, a partner is drawn from all rows of a class, also the row itself: that of the only row of a
    class always is. Rows of equal text are rows like any other.
    """

    rows_each = 2

    def __init__(self, iterations: int) -> None:
        self.iterations = iterations

    def items(self, rows: int) -> int:
        """The number of pairs: two of each row in each round."""
        return 2 * self.iterations * rows

    def usable(self, corpus: Corpus) -> Sequence[int]:
        """All rows; an error if they are of one class, which no pair can be compared with."""
        if len(corpus.classes) < 2:
            raise TooFewRows(
                f"All {len(corpus):,} rows of {corpus.name} that are trained on have the label {corpus.labels[0]!r}; "
                "pairs of two classes are needed. Use more rows, or raise rows."
            )
        return range(len(corpus))

    def batches(self, corpus: Corpus, order: Sequence[int], size: int, random: torch.Generator) -> list[Sequence[int]]:
        """So many pairs in each batch, in random order, as the numbers of their rows, pair by pair."""
        number = {name: at for at, name in enumerate(corpus.classes)}
        classes = torch.tensor([number[corpus.labels[row]] for row in order])
        rows = torch.tensor(order)
        by_class, counts = rows[classes.argsort(stable=True)], classes.bincount(minlength=len(number))
        starts = counts.cumsum(0) - counts
        rows, count, start = (each.repeat(self.iterations) for each in (rows, counts[classes], starts[classes]))
        drawn = torch.rand(2, len(rows), generator=random, dtype=torch.float64)
        same = by_class[start + (drawn[0] * count).long()]
        place = (drawn[1] * (len(order) - count)).long()  # among the rows of other classes
        other = by_class[place + count * (place >= start)]
        pairs = torch.cat([torch.stack([rows, partner], dim=1) for partner in (same, other)])
        pairs = pairs[torch.randperm(len(pairs), generator=random)]
        return [pairs[at : at + size].flatten().tolist() for at in range(0, len(pairs) - size + 1, size)]


class SetFit(Pooled, FittedClasses):
    """SetFit: pairs of few labelled texts tune the encoder, then a logistic layer learns the classes.

    Tunstall, Reimers, Jo, Bates, Korat, Wasserblat and Pereg 2022, section 3: for each text one of the same class and
    one of another are drawn, R times. The cosine of a pair is trained towards 1 or 0 by the mean squared error; then a
    logistic regression is fitted to the vectors of the texts. Pairs are drawn as in the released code, two of each text
    in each of R = 20 rounds, where the paper draws two of each class; an epoch is all of them once, and a further one
    draws others. The learning rate is that of the released code, 2e-5: the paper's 0.001 is a default of its command
    line that is never used. The layer is scikit-learn's logistic regression of the vectors as the exported encoder
    gives them, normalised if its model default is, with C = 1. It is fitted at every evaluation and in the end, and is
    in the folder of the exported encoder. Validation rows choose the best checkpoint, and test rows are scored.
    """

    name = "setfit"
    family = "classification"
    paper = cited("tunstall-etal-2022-efficient")
    suggestion = Suggestion("few labelled sentences", 1, "pairs of them teach more than their labels alone", most=100)
    when_to_use = "Few labelled texts, 8 to 200, to predict classes; judged by accuracy, so it was not measured on STS."
    rows = LABELLED_TEXTS
    compares_rows = False
    order_matters = True  # two rows after each other are a pair
    rows_each: ClassVar[int] = LabelPairs.rows_each
    schedule = Schedule(batch_size=16, learning_rate=2e-5, max_length=256, warmup=0.1, weight_decay=0.01)
    paper_schedule: ClassVar[Values] = {"learning_rate": 1e-3}
    released: ClassVar[Values] = {"learning_rate": 2e-5}

    iterations: int = knob(
        20,
        low=1,
        high=1000,
        front=True,
        help="R: how often each text is paired with one of its class and with one of another; an epoch has 2 R pairs "
        "of each text.",
    )
    dropout: bool = knob(
        True,
        help="Use the encoder's dropout in training. off: a text that is in several pairs of a batch is encoded once, "
        "which takes less time if there are few texts.",
    )
    pooling: str = pooling_knob()

    @classmethod
    def items(cls, values: Values, rows: int) -> int:
        """The pairs of an epoch."""
        return LabelPairs(int(values.get("iterations", cls.knobs["iterations"].default))).items(rows)

    def sampler(self) -> Sampler:
        """Pairs of rows by their labels."""
        return LabelPairs(self.iterations)

    def loss(self, *columns: Any) -> Tensor:
        """The mean squared error of the cosines of rows 1 and 2, 3 and 4 and so on, of all processes."""
        texts, labels = columns
        vectors = self._vectors(texts)
        one, other = gathered(vectors[::2]), gathered(vectors[1::2])
        same = [float(label == partner) for label, partner in zip(labels[::2], labels[1::2], strict=True)]
        target = gathered(torch.tensor(same).to(one.device, non_blocking=True))  # given a device, it waits for it
        cosine = losses.paired_cosines(one, other)
        with torch.no_grad():  # of pairs of one class, and of two
            shares = target / target.sum(), (1 - target) / (1 - target).sum()
            self.similarities = (cosine * shares[0]).sum(), (cosine * shares[1]).sum()
        return losses.cosine_regression(cosine, target)

    def _vectors(self, texts: list[str]) -> Tensor:
        """Vectors (row, width); with dropout each row has its own, as in the released code."""
        if self.base.model.training:
            return self.encode(texts)
        place = {text: at for at, text in enumerate(dict.fromkeys(texts))}
        vectors = self.encode(list(place))
        # given a device, torch.tensor waits for it, and so does a GPU for a list as index
        return vectors[torch.tensor([place[text] for text in texts]).to(vectors.device, non_blocking=True)]
