"""What moves while one seed is trained: the method's weights, the optimiser, the place, and the best so far."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from explorer.data.kinds import GradedPairs
from explorer.encoding.read.head import Head
from explorer.encoding.tune.tunable import Tunable
from explorer.errors import Diverged
from explorer.measuring.attention.pooler_weights import ProbeWeights
from explorer.measuring.geometry.dev_check import Checkup, checkup, probe_places
from explorer.methods import Method
from explorer.progress import Work
from explorer.training.loop import held_out_triplets
from explorer.training.loop.optimizer import adamw, learning_rate
from explorer.training.loop.preparing import Prepared
from explorer.training.loop.processes import World
from explorer.training.loop.row_order import Batch, Feed
from explorer.training.loop.stopping import enough


@dataclass(frozen=True)
class Update:
    """One update of the weights: its number from 1, and what it looked like."""

    step: int
    loss: float
    rate: float
    partners: float
    strangers: float


class Learner:
    """One seed's training, a step at a time."""

    def __init__(self, prepared: Prepared, seed: int, world: World) -> None:
        recipe = prepared.recipe
        self.seed, self.world = seed, world
        self.schedule = recipe.schedule()
        sow(seed)  # the same weights are made up in every process …
        base = Tunable(prepared.encoder, self.schedule.max_length)
        self.method: Method = recipe.kind(base, recipe.method_values())
        self._module = world.place(self.method)
        self.method.train()
        sow(seed + 7919 * world.rank)  # … and every process draws its own dropout
        self.corpus, self.held_out = prepared.corpus, prepared.held_out
        if self.method.trains():
            self.feed = Feed(prepared.corpus, self.schedule, seed, world.rank, world.size)
            self.optimizer = adamw(self.method, self.schedule)
        self.names = {weight: name for name, weight in self.method.named_parameters() if weight.requires_grad}
        self.step = 0
        self.scores: list[float] = []  # what every evaluation so far is chosen by, that of step 0 first
        self.best_dev: float | None = None  # Spearman × 100 on the dev set at the best checkpoint
        self.looked_at = -1
        self.best_step: int | None = None
        self.kept: dict[str, Tensor] = {}

    @property
    def total(self) -> int:
        """How many updates there are to be."""
        return self.feed.steps if self.method.trains() else 0

    @property
    def look_every(self) -> int:
        """Steps between two looks at the development pairs: as the paper has it, but ten looks a run at least."""
        return self.schedule.look_every(self.total)

    @property
    def done(self) -> bool:
        """Whether every update was made, or it is enough."""
        return self.step >= self.total or enough(self.scores, self.schedule)

    @property
    def look_due(self) -> bool:
        """Whether the weights as they are should be looked at, and were not yet."""
        on_time = self.step % self.look_every == 0 or self.step == self.total
        return on_time and self.looked_at != self.step

    @property
    def changed(self) -> bool:
        """Whether there is anything yet that the base is not."""
        return self.step > 0 or (not self.total and self.looked_at == 0)

    def fit(self) -> Work[None]:
        """What a method learns from all of the text at once, before the first update."""
        if type(self.method).fit is not Method.fit:
            yield from self.method.fit(list(dict.fromkeys(one for column in self.corpus.texts for one in column)))

    def update(self) -> Update:
        """One step: the gradients of as many batches as are accumulated, clipped, and followed."""
        many, losses, watched = self.schedule.accumulate, 0.0, (math.nan, math.nan)
        for part in range(many):
            loss = self.gradients(self.feed.batch(self.step * many + part), share=1 / many)
            losses += loss / many
            if self.method.watched is not None:
                partners, strangers = self.method.watched  # of the last batch of those that are accumulated
                watched = float(partners), float(strangers)
        length = float(torch.nn.utils.clip_grad_norm_(list(self.names), self.schedule.clip or math.inf))
        for what, size in (("loss", losses), ("gradient", length)):  # before it spoils weights that would be kept
            if not math.isfinite(size):
                raise Diverged(
                    f"The {what} of step {self.step + 1} is {size}. Lower learning_rate "
                    f"({self.schedule.learning_rate:g}), raise warmup, or set precision to float32; the run's folder "
                    "keeps the last good state."
                )
        warmup = math.ceil(self.schedule.warmup * self.total)
        rate = learning_rate(self.step, self.schedule.learning_rate, warmup, self.total, self.schedule.decay)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.step += 1
        return Update(self.step, losses, rate, *watched)

    def gradients(self, columns: Batch, share: float = 1.0) -> float:
        """Add the gradients of a batch to those that are there; gives its loss."""
        with self.world.autocast():
            loss = self._module(*columns)
        self.world.backward(loss * share)
        return float(loss.detach())

    def look(self, pairs: GradedPairs, head: Head | None = None) -> Work[Checkup]:
        """The check-up of the weights as they are, on graded pairs; `head` reads them another way."""
        probe = ProbeWeights((head or self.method.head()).attention, probe_places(pairs))
        vectors = yield from self.method.reading(pairs.sentences, head, self.world.autocast, probe.add)
        return checkup(pairs, vectors, probe.mean(), self.world.precision)

    def held_out_accuracy(self) -> Work[float | None]:
        """The share × 100 of held-out triplets that are right with the weights as they are; None where none are held
        out."""
        held = self.held_out
        if held is None:
            return None
        texts = held_out_triplets.sentences(held)
        vectors = yield from self.method.reading(texts, None, self.world.autocast)
        return held_out_triplets.accuracy(held, texts, vectors.numpy())

    def criterion(self, dev: float, accuracy: float | None) -> float:
        """What the best checkpoint is chosen by: the dev score, the accuracy on held-out triplets, or their mean."""
        if accuracy is None:
            return dev
        return accuracy if self.schedule.select_by == "held-out triplets" else (dev + accuracy) / 2

    def note(self, score: float, dev: float | None = None) -> bool:
        """Keep the weights if `score` is the best of a trained model so far; whether it is.

        `dev` is the dev score where something else chooses the best checkpoint.
        """
        self.scores.append(score)
        self.looked_at = self.step
        so_far = [earlier for earlier in self._counted[:-1] if not math.isnan(earlier)]
        if not self._counted or math.isnan(score) or (so_far and score <= max(so_far)):
            return False
        self.best_step, self.best_dev = self.step, score if dev is None else dev
        self.kept = {name: weight.detach().clone() for weight, name in self._kept()}
        return True

    def take_best(self) -> None:
        """Go back to the weights of the best step; without one, those that are there stay."""
        with torch.no_grad():
            for weight, name in self._kept():
                if name in self.kept:
                    weight.copy_(self.kept[name])

    @property
    def best_score(self) -> float | None:
        """What the best checkpoint was chosen by; None before there is one."""
        return None if self.best_step is None else max(score for score in self._counted if not math.isnan(score))

    @property
    def _counted(self) -> list[float]:
        """Scores that can be the best: what nothing was learned for is the base's, unless there is nothing to train."""
        return self.scores[1:] if self.total else self.scores

    def wear(self, weights: Mapping[str, Tensor]) -> None:
        """Put on weights that were kept."""
        self.kept = dict(weights)
        self.take_best()

    def _kept(self) -> list[tuple[Tensor, str]]:
        """What is left of training afterwards: all that is trained, but for heads that only the loss sees."""
        outside = tuple(f"{name}." for name in self.method.training_only)
        return [(weight, name) for weight, name in self.names.items() if not name.startswith(outside)]


def kept_buffers(method: Method) -> dict[str, Tensor]:
    """What moves in a method without being trained: running means of a norm, counts."""
    saved = method.state_dict(keep_vars=True)
    return {name: value for name, value in method.named_buffers() if name in saved}


def sow(seed: int) -> None:
    """Everything that is drawn from here on follows from the seed."""
    torch.manual_seed(seed)
