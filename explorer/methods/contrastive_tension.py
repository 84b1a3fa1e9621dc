"""Contrastive Tension (Carlsson and others 2021): two copies, both trained, agree on a sentence and on nothing else.

Without dropout they begin as one. The dev set chooses one.
"""

import math
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from explorer import losses
from explorer.data.text_sets import SENTENCES
from explorer.encoding.tune.tunable import Tunable
from explorer.gathering import gathered, own_share, processes, text_keys
from explorer.methods import Schedule, Suggestion, cited, knob
from explorer.methods._additions import Pooled, pooling_knob
from explorer.optimizers import Group

FIRST, SECOND = "first copy", "second copy"
BOTH, ONE, OTHER = 0, 1, 2  # which copies encode a sentence
DECAY, EPSILON = 0.9, 1e-7  # of RMSprop, Keras' defaults
FALLS = 4  # of the learning rate, each by a fifth of its first value
SIMILARITIES = ("cosine", "dot product")


class TwoCopies(Pooled):
    """Two copies without weights in common."""

    family = "contrastive tension"
    paper = cited("carlsson-etal-2021-semantic")
    rows = SENTENCES

    dropout: bool = knob(
        False, help="Use the encoder's dropout in training, as sentence-transformers does; the released code has none."
    )
    pooling: str = pooling_knob("mean")

    def build(self) -> None:
        """Copy the encoder once more; both copies are trained."""
        self.other = self.base.another()

    def without_dropout(self) -> tuple[nn.Module, ...]:
        """Both copies, unless it is set."""
        return () if self.dropout else (self.base, self.other)

    def candidates(self) -> Mapping[str, Tunable]:
        """Both copies."""
        return {FIRST: self.base, SECOND: self.other}

    def encode_by(self, copy: Tunable, sentences: list[str]) -> Tensor:
        """Vectors (sentence, width) of one copy, not normalised."""
        return self.encode(sentences, self.before_normalising, copy=copy)


class ContrastiveTension(TwoCopies):
    """Contrastive Tension: two copies of an encoder should agree on a sentence, and on nothing else.

    Carlsson and others 2021, section 3: a logistic loss of dot products, of one pair of a sentence with itself for
    every seven pairs of different sentences. As in the released code the copies have no dropout, each pair of a batch
    is of sentences of its own, and RMSprop's learning rate falls in steps; the paper draws the seven beside one anchor.
    The dev set chooses one of the copies at each evaluation.
    """

    # a batch is groups of 1 + 2 × negatives sentences: the first is paired with itself, the others with each other
    name = "ct"
    when_to_use = "To repeat the paper: CT in a batch gained more with the same sentences."
    order_matters = True
    unused = ("warmup", "decay", "weight_decay", "beta2", "epsilon")
    schedule = Schedule(
        batch_size=30,
        steps=5000,
        learning_rate=1e-5,
        max_length=75,
        evaluate_every=500,
        clip=0.0,
        keep_duplicates=False,
    )

    negatives: int = knob(
        7,
        low=1,
        high=2000,
        front=True,
        help="Pairs of different sentences for each pair of a sentence with itself (paper: 7). A batch of 30 sentences "
        "then has two groups of 15.",
    )
    rate_every: int = knob(
        500,
        low=1,
        high=1_000_000,
        help="Updates after which the learning rate falls by a fifth of its first value, four times.",
    )

    def make_optimizer(self, groups: list[Group], schedule: Schedule) -> torch.optim.Optimizer:
        """RMSprop of every weight, without weight decay."""
        weights = [weight for group in groups for weight in group["params"]]
        return torch.optim.RMSprop(weights, lr=schedule.learning_rate, alpha=DECAY, eps=EPSILON)

    def rate(self, step: int, total: int, schedule: Schedule) -> float:
        """A rate that falls in steps."""
        return schedule.learning_rate * (1 - min(step // self.rate_every, FALLS) / (FALLS + 1))

    def loss(self, *columns: list[str]) -> Tensor:
        """The logistic loss, averaged over the pairs of all processes."""
        (sentences,) = columns
        device = self.base.model.device
        roles, pairs = grouped_pairs(len(sentences) * processes(), self.negatives)
        mine = own_share(roles).tolist()
        one, other = (
            self._encode_some(copy, sentences, [place for place, role in enumerate(mine) if role in (BOTH, which)])
            for copy, which in ((self.base, ONE), (self.other, OTHER))
        )
        firsts, seconds = pairs.to(device, non_blocking=True)
        keys = text_keys(sentences, device)
        one, other = gathered(one)[firsts], gathered(other)[seconds]
        same = firsts == seconds
        counted = (same | (keys[firsts] != keys[seconds])).float()  # one sentence twice is no pair of different ones
        with torch.no_grad():  # of sentences with themselves, and of pairs of different ones
            alike, different = losses.paired_cosines(one, other), counted * ~same
            self.similarities = (alike * same).sum() / same.sum(), (alike * different).sum() / different.sum()
        return losses.tension(one, other, same, counted)

    def _encode_some(self, copy: Tunable, sentences: list[str], places: list[int]) -> Tensor:
        """Vectors (sentence, width) of the sentences at these places, and zeros for the others."""
        vectors = self.encode_by(copy, [sentences[place] for place in places])
        where = torch.tensor(places).to(vectors.device, non_blocking=True)
        return vectors.new_zeros(len(sentences), vectors.shape[1]).index_copy(0, where, vectors)


def grouped_pairs(total: int, negatives: int) -> tuple[Tensor, Tensor]:
    """Which copies encode each row of the whole batch, and the rows of both sides of each pair: (side, pair).

    In a group that is too small for all its negatives, a row that is left over is paired with itself too.
    """
    roles, pairs = torch.full((total,), BOTH), []
    for start in range(0, total, 1 + 2 * negatives):
        end = min(start + 1 + 2 * negatives, total)
        pairs.append((start, start))
        for place in range(start + 1, end - 1, 2):
            roles[place], roles[place + 1] = ONE, OTHER
            pairs.append((place, place + 1))
        if (end - start) % 2 == 0:
            pairs.append((end - 1, end - 1))
    return roles, torch.tensor(pairs).T


class InBatchTension(TwoCopies):
    """Contrastive Tension in a batch: each of two copies finds the other's vector of a sentence.

    Carlsson and others 2021 for the two copies; the loss is that of sentence-transformers' improved form, InfoNCE in
    both directions between the copies, of cosines with a trained scale. Learning rate, warmup and dropout are those of
    its example; the batch size is Strata's choice. The dev set chooses one of the copies at each evaluation.
    """

    name = "ct-in-batch"
    when_to_use = "Only sentences and an encoder that is good already: without scores no method gained more."
    as_published = False
    suggestion = Suggestion("plain sentences", 1, "it needs neither pairs nor labels")
    schedule = Schedule(batch_size=64, learning_rate=5e-5, max_length=75, warmup=0.1, keep_duplicates=False)

    temperature: float = knob(
        0.05,
        low=0.001,
        high=10.0,
        front=True,
        help="Temperature at the start: similarities are divided by it. It is trained too. sentence-transformers takes "
        "0.05 with cosines, 1 with dot products.",
    )
    dropout: bool = knob(
        True,
        help="Use the encoder's dropout in training. Without it both copies get the same gradients, so that they stay "
        "one encoder.",
    )
    similarity: str = knob("cosine", choices=SIMILARITIES, help="What is compared: cosines or dot products.")

    def build(self) -> None:
        """Add the scale to the copies; its logarithm is trained."""
        super().build()
        self.scale = nn.Parameter(torch.tensor(-math.log(self.temperature)))

    def loss(self, *columns: list[str]) -> Tensor:
        """InfoNCE between the copies, in both directions."""
        (sentences,) = columns
        one, other = (gathered(self.encode_by(copy, sentences)) for copy in (self.base, self.other))
        self.record_similarities(one, other)
        return losses.tension_in_batch(one, other, self.scale.exp(), dot=self.similarity == "dot product")
