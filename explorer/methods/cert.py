"""CERT: momentum contrast of two back-translations, with a queue of earlier keys as negatives.

Fang and others 2020, section 3: two back-translations of a sentence, by different languages, are a positive pair; give
them as the two columns of a file of pairs (the original is not used). The query is the trained encoder's, its key a
momentum copy's. Settings are the released code's, which cannot be run as it is: its queue is filled with the
temperature instead of the keys, and its last epoch has a learning rate of 0. Here keys fill the queue, an epoch has the
rate that the code gives the one before, and the queue holds at most half of the rows, since otherwise a sentence would
meet its own older key. The vector is pooled without BERT's pooler, in training and afterwards.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from explorer.data.row_kinds import PAIRS
from explorer.gathering import gathered
from explorer.losses import with_queue
from explorer.methods import Paper, Schedule, knob
from explorer.methods._momentum import Followed, follow
from explorer.optimizers import Group
from explorer.progress import Work

KEY_WIDTH = 128
MOMENTUM = 0.9  # of SGD


class Cert(Followed):
    """A row's query should find its key among those of the queue."""

    when_to_use = "To repeat the paper: on this tuned encoder the difference could be chance."
    eats = PAIRS
    paper = Paper(
        title="CERT: Contrastive Self-supervised Learning for Language Understanding",
        authors="Fang, Wang, Zhou, Ding and Xie",
        year=2020,
        link="https://arxiv.org/abs/2005.12766",
        bibtex="""@article{fang-etal-2020-cert,
  title = {{CERT}: Contrastive Self-supervised Learning for Language Understanding},
  author = {Fang, Hongchao and Wang, Sicheng and Zhou, Meng and Ding, Jiayuan and Xie, Pengtao},
  journal = {arXiv:2005.12766},
  year = {2020},
  url = {https://arxiv.org/abs/2005.12766}
}""",
        family="momentum copies",
    )
    training_only = ("target", "project", "key_project")
    unused = ("warmup", "decay", "beta2", "epsilon")
    schedule = Schedule(
        batch_size=32, epochs=50, learning_rate=4e-5, max_length=64, weight_decay=1e-5, clip=0.0, evaluate_every=1000
    )

    temperature: float = knob(
        0.07, low=0.001, high=1.0, front=True, help="Temperature. Lower penalises close negatives more."
    )
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
        query = gathered(self.project(self.encoded(first, head)))
        with torch.no_grad():
            key = gathered(functional.normalize(self.key_project(self.targets(second, head)).float(), dim=-1))
        self.watch(query, key)
        found = with_queue(query, key, self.queue, self.temperature)
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
            weights, lr=schedule.learning_rate, momentum=MOMENTUM, weight_decay=schedule.weight_decay
        )

    def rate(self, step: int, total: int, schedule: Schedule) -> float:
        """Half a cosine from the first epoch to the last, the same within an epoch."""
        epoch = step * schedule.epochs // total
        return schedule.learning_rate * (1 + math.cos(math.pi * epoch / schedule.epochs)) / 2
