"""Methods with a momentum copy of the encoder: BSL predicts, and CERT finds, the copy's vector of a paraphrase."""

import copy
import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from explorer import losses
from explorer.data.text_sets import BACK_TRANSLATIONS, PAIRS
from explorer.gathering import gathered
from explorer.knobs import Values
from explorer.methods import Schedule, cited, knob
from explorer.methods._additions import Fitting, Momentum, follow, pooling_knob, temperature_knob
from explorer.optimizers import Group
from explorer.progress import Work

KEY_WIDTH = 128
SGD_MOMENTUM = 0.9


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
