"""A run a second time: losses and weights after every step, by AdamW in float64 on slopes of plain loops."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor
from transformers import AutoTokenizer

from explorer.progress import finish
from explorer.run_folder import TrainingStep
from explorer.training.loop.learner import Learner
from explorer.training.loop.preparing import prepare
from explorer.training.loop.processes import World
from explorer.training.record.runs import Run
from tests.independent import formulas
from tests.independent.bert import layers, linear, wide
from tests.trainings import Place, recipe

METHOD, STEPS = "simcse-hard", 4
SHARED = {"steps": STEPS, "evaluate_every": 1, "keep_steps": True, "epsilon": 1e-4, "batch_size": 4, "temperature": 0.2}
SCHEDULES = {
    "warmup, decay, clipping": SHARED | {"warmup": 0.5, "weight_decay": 0.3, "beta2": 0.9, "clip": 1.0},
    "two batches a step": SHARED | {"accumulate": 2, "decay": "none", "clip": 0.0, "beta2": 0.99},
}


def rate(step: int, peak: float, warmup: int, decay: str) -> float:
    """The learning rate of an update, counted from 0: up in a line, then down in a line to 0 after the last."""
    if step < warmup:
        return peak * step / warmup
    return peak if decay == "none" else peak * (STEPS - step) / (STEPS - warmup)


class ByHand:
    """What is worked out for a schedule; the rows and the first weights are those of the run's seed."""

    def __init__(self, place: Place, schedule: str) -> None:
        made = recipe(place, METHOD, settings=SCHEDULES[schedule])
        self.chosen = made.schedule()
        learner = Learner(finish(prepare(made)), 1, World("float32", "cpu"))
        self.feed = learner.feed
        self._tokenizer = AutoTokenizer.from_pretrained(place.model)
        self._weights = wide(learner.method)
        self._trained = [name for name, weight in self._weights.items() if weight.requires_grad]
        self._first = {name: torch.zeros_like(self._weights[name]) for name in self._trained}
        self._second = dict(self._first)
        self.losses: list[float] = []
        self.rates: list[float] = []
        self.lengths: list[float] = []  # of the gradients, before they are clipped
        self.weights = [dict(self._weights)]  # at the start and after every step
        for step in range(STEPS):
            self._update(step)
            self.weights.append(dict(self._weights))

    def _loss(self, columns: Any) -> Tensor:
        """SimCSE on triplets."""
        sides = []
        for column in columns:
            ids = [self._tokenizer(one, truncation=True, max_length=16)["input_ids"] for one in column]
            cls = [layers(self._weights, one)[-1][0] for one in ids]
            sides.append([torch.tanh(linear(self._weights, "dense", one)) for one in cls])
        return formulas.with_hard_negatives(*sides, SHARED["temperature"])

    def _update(self, step: int) -> None:
        """Loshchilov and Hutter 2019, algorithm 2, after clipping; matrices alone decay."""
        chosen, many = self.chosen, self.chosen.accumulate
        loss = sum(self._loss(self.feed.batch(step * many + part)) for part in range(many)) / many
        slopes = torch.autograd.grad(loss, [self._weights[name] for name in self._trained])
        length = math.sqrt(sum(float(slope.square().sum()) for slope in slopes))
        short = min(1.0, chosen.clip / length) if chosen.clip else 1.0
        now = rate(step, chosen.learning_rate, math.ceil(chosen.warmup * STEPS), chosen.decay)
        for name, slope in zip(self._trained, slopes, strict=True):
            clipped, weight = short * slope, self._weights[name].detach()
            self._first[name] = 0.9 * self._first[name] + 0.1 * clipped
            self._second[name] = chosen.beta2 * self._second[name] + (1 - chosen.beta2) * clipped**2
            first = self._first[name] / (1 - 0.9 ** (step + 1))
            second = self._second[name] / (1 - chosen.beta2 ** (step + 1))
            shrunk = weight * (1 - now * chosen.weight_decay) if weight.dim() > 1 else weight
            self._weights[name] = (shrunk - now * first / (second.sqrt() + chosen.epsilon)).requires_grad_()
        self.losses.append(loss.item())
        self.rates.append(now)
        self.lengths.append(length)


def assert_followed(run: Run, by_hand: ByHand) -> None:
    """Losses, rates and the model that was kept at every step are those worked out by hand."""
    lines = [line for line in run.metrics() if isinstance(line, TrainingStep)]
    assert [line.loss for line in lines] == pytest.approx(by_hand.losses, rel=1e-4)
    assert [line.rate for line in lines] == pytest.approx(by_hand.rates)
    for step, expected in enumerate(by_hand.weights):
        kept = load_file(run.folder / "steps" / f"step-{step}" / "model.safetensors")
        for name, weight in kept.items():
            if not name.startswith("pooler."):  # of the base; no method uses it
                moved = expected[f"base.model.{name}"]
                assert torch.allclose(weight.double(), moved, rtol=0, atol=2e-5), (step, name)
    start, end = by_hand.weights[0], by_hand.weights[-1]
    assert max(float((end[name] - start[name]).detach().abs().max()) for name in start) > 1e-3, "something was learned"
