"""Methods with a second copy of the encoder: BSL and CERT with a momentum copy, Contrastive Tension with two trained.

BSL predicts, and CERT finds among others, the vector that the momentum copy gives a paraphrase. In Contrastive Tension
(Carlsson and others 2021) both copies encode a sentence; without dropout they begin as one. The dev set chooses one.
"""

import copy
import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from explorer import losses
from explorer.data.text_sets import BACK_TRANSLATIONS, PAIRS, SENTENCES
from explorer.encoding.tune.tunable import Tunable
from explorer.gathering import gathered, own_share, processes, text_keys
from explorer.knobs import Values
from explorer.methods import Schedule, Suggestion, cited, knob
from explorer.methods._additions import Fitting, Momentum, Pooled, follow, pooling_knob, temperature_knob
from explorer.optimizers import Group
from explorer.progress import Work

KEY_WIDTH = 128
SGD_MOMENTUM = 0.9
FIRST, SECOND = "first copy", "second copy"
BOTH, ONE, OTHER = 0, 1, 2  # which copies encode a sentence
DECAY, EPSILON = 0.9, 1e-7  # of RMSprop, Keras' defaults
FALLS = 4  # of the learning rate, each by a fifth of its first value
SIMILARITIES = ("cosine", "dot product")


class BootstrappedSentences(Momentum):
    """BSL: predict a momentum copy's vector of a sentence's back-translation, without negatives.

    Zhang and others 2021 (bootstrapped sentence learning), after BYOL: three networks in a chain on the trained
    encoder's vector predict the copy's vector of the other sentence of the row, and the copy follows after each update.
    Settings and the shape of the networks are the released code's; for an encoder of width 768 they have 212 million
    weights, which is twice BERT; the preset *quick* has one small network. The copy has dropout, as in the released
    code.
    """

    name = "bsl"
    family = "momentum copies"
    paper = cited("zhang-etal-2021-bootstrapped")
    when_to_use = "To repeat the paper: in 200 updates the model default of a tuned encoder got worse."
    rows = BACK_TRANSLATIONS
    training_only = ("target", "predict")
    presets: ClassVar[Mapping[str, Values]] = {"quick": {"predictors": 1, "predictor_width": 2}}
    schedule = Schedule(batch_size=64, learning_rate=1e-4, max_length=64, warmup=0.1, epsilon=1e-6)

    momentum: float = knob(
        0.999, low=0.0, high=1.0, front=True, help="Share of its own weights that the momentum copy keeps at an update."
    )
    predictors: int = knob(3, low=1, high=8, front=True, help="Networks in the chain that predicts (released code: 3).")
    predictor_width: int = knob(
        10, low=1, high=32, front=True, help="Their inner width, in widths of a vector (released code: 10)."
    )
    target_dropout: bool = knob(True, help="Use dropout in the momentum copy too.")
    pooling: str = pooling_knob("mean")

    def build(self) -> None:
        """Copy the encoder, and build the networks that predict."""
        super().build()
        width = self.before_normalising.width(self.base.width)
        inner = self.predictor_width * width
        self.predict = nn.Sequential(*(predictor(width, inner) for _ in range(self.predictors)))
        self._spread: Tensor | None = None

    def without_dropout(self) -> tuple[nn.Module, ...]:
        """The momentum copy, if it is set."""
        return () if self.target_dropout else (self.target,)

    def loss(self, *columns: list[str]) -> Tensor:
        """The distance of both predictions, of the rows of all processes: batch norm needs all of them."""
        first, second = columns
        head = self.before_normalising
        online = self.encode(first + second, head)
        target = self.encode_by_target(first + second, head)
        one, other = (self.predict(gathered(side).float()) for side in online.chunk(2))
        to_first, to_second = (gathered(side) for side in target.chunk(2))
        self.record_similarities(one, to_second)
        self._spread = nn.functional.normalize(online.detach().float(), dim=-1).std(dim=0).mean()
        return losses.bootstrapped(one, to_second) + losses.bootstrapped(other, to_first)

    def after_update(self) -> None:
        """The copy follows."""
        follow([self.target.model], [self.base.model], self.momentum)

    def remark(self) -> str:
        """How far the vectors are from collapsing into one."""
        if self._spread is None:
            return ""
        usual = self.base.width**-0.5
        return (
            f"Standard deviation of each dimension of unit vectors in the last batch: {self._spread.item():.4f} "
            f"({usual:.4f} if directions are uniform, 0 if all vectors are one)."
        )


def predictor(width: int, inner: int) -> nn.Module:
    """One network of the chain: two hidden layers, with batch norm after the first."""
    return nn.Sequential(
        nn.Linear(width, inner),
        nn.BatchNorm1d(inner),
        nn.ReLU(),
        nn.Linear(inner, inner),
        nn.ReLU(),
        nn.Linear(inner, width),
    )


class CERT(Momentum, Fitting):
    """CERT: momentum contrast of two back-translations, with a queue of earlier keys as negatives.

    Fang and others 2020, section 3: two back-translations of a sentence, by different languages, are a positive pair;
    give them as the two columns of a file of pairs (the original is not used). The query is the trained encoder's, its
    key a momentum copy's. Settings are the released code's, which cannot be run as it is: its queue is filled with the
    temperature instead of the keys, and its last epoch has a learning rate of 0. Here keys fill the queue, an epoch has
    the rate that the code gives the one before, and the queue holds at most half of the rows, since otherwise a
    sentence would meet its own older key. The vector is pooled without BERT's pooler, in training and afterwards.
    """

    name = "cert"
    family = "momentum copies"
    paper = cited("fang-etal-2020-cert")
    when_to_use = "To repeat the paper: on this tuned encoder the difference could be chance."
    rows = PAIRS
    training_only = ("target", "project", "key_project")
    unused = ("warmup", "decay", "beta2", "epsilon")
    schedule = Schedule(
        batch_size=32, epochs=50, learning_rate=4e-5, max_length=64, weight_decay=1e-5, clip=0.0, evaluate_every=1000
    )

    temperature: float = temperature_knob(0.07)
    queue_size: int = knob(
        6720,
        low=1,
        high=1_000_000,
        front=True,
        help="Keys of earlier batches that are negatives (released code: 6,720; paper: 96,606); at most half of the "
        "rows.",
    )
    momentum: float = knob(
        0.999, low=0.0, high=1.0, front=True, help="Share of its own weights that the momentum copy keeps at an update."
    )

    queue: Tensor  # (key, width)

    def build(self) -> None:
        """Copy the encoder and its projection, and fill the queue with random directions."""
        super().build()
        width = self.before_normalising.width(self.base.width)
        self.project = nn.Sequential(nn.Dropout(0.1), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, KEY_WIDTH))
        self.key_project = copy.deepcopy(self.project).requires_grad_(False)
        self.register_buffer("queue", functional.normalize(torch.randn(self.queue_size, KEY_WIDTH), dim=-1))

    def fit(self, sentences: Sequence[str]) -> Work[None]:
        """Shorten the queue to half of the rows; each has two sentences."""
        self.queue = self.queue[: max(1, len(sentences) // 4)].clone()
        yield from ()

    def loss(self, *columns: list[str]) -> Tensor:
        """InfoNCE of the queries of all processes; then their keys take the place of the oldest."""
        first, second = columns
        head = self.before_normalising
        query = gathered(self.project(self.encode(first, head)))
        with torch.no_grad():
            key = gathered(functional.normalize(self.key_project(self.encode_by_target(second, head)).float(), dim=-1))
        self.record_similarities(query, key)
        found = losses.with_queue(query, key, self.queue, self.temperature)
        if self.training:
            self.queue = torch.cat([self.queue, key])[-len(self.queue) :]
        return found

    def after_update(self) -> None:
        """The copy and its projection follow."""
        follow([self.target.model, self.key_project], [self.base.model, self.project], self.momentum)

    def make_optimizer(self, groups: list[Group], schedule: Schedule) -> torch.optim.Optimizer:
        """SGD with momentum; every weight decays."""
        weights = [weight for group in groups for weight in group["params"]]
        return torch.optim.SGD(
            weights, lr=schedule.learning_rate, momentum=SGD_MOMENTUM, weight_decay=schedule.weight_decay
        )

    def rate(self, step: int, total: int, schedule: Schedule) -> float:
        """Half a cosine from the first epoch to the last, the same within an epoch."""
        epoch = step * schedule.epochs // total
        return schedule.learning_rate * (1 + math.cos(math.pi * epoch / schedule.epochs)) / 2


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
