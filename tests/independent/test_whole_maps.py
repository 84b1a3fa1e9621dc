"""Test flow, whitening and WK as a whole, and the steps of a run by AdamW, in plain loops."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
import torch
import torch.distributed as dist
from safetensors.torch import load_file
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel
from transformers import AutoTokenizer

from explorer import methods
from explorer.encoding.read.parts.flow_map import Flow
from explorer.encoding.tune.tunable import Tunable
from explorer.methods import Method, post_processing, self_guided
from explorer.progress import finish
from explorer.run_folder import TrainingStep
from explorer.training.loop.learner import Learner
from explorer.training.loop.preparing import prepare
from explorer.training.loop.processes import World
from explorer.training.record import runs
from explorer.training.record.runs import Run
from tests.independent import formulas
from tests.independent.bert import layers, linear, pool, wide
from tests.independent.formulas import mean
from tests.independent.models import FIRST, assert_same
from tests.methods.hub import save_generator
from tests.methods.rows import COMPARING, FIXED_DRAWS, MANY, TUNING, columns_of, vectors_of
from tests.processes import ended, in_a_group_of_two, two
from tests.spoiling import encoder_of
from tests.tiny_models import POSITIONS, save_tiny
from tests.trainings import Place, command, few_probes, furnish, in_no_time, new, recipe, train, words_of


def read(states, how):
    """A sentence's vector from its layers: one pooling of one layer, or of two that are added and halved."""
    pooling, *at = how
    return pool(sum(states[layer] for layer in at) / len(at), pooling)


READS = {
    "first-last mean": ("mean", 1, -1),
    "first-last mean, from layer 0": ("mean", 0, -1),
    "mean of the last two layers": ("mean", -2, -1),
    "cls": ("cls", -1),
    "max of layers 0 + 2": ("max", 0, 2),
}


def flowed(weights, vector, levels, depth, under="map.flow."):
    """Scale, reverse, couple, in every step; after each level but the last, half of the numbers is final."""
    done = []
    for level, step in itertools.product(range(levels), range(depth)):
        scaling, coupling = (f"{under}{part}.{level * depth + step}" for part in ("scalings", "couplings"))
        vector = scaled(weights, scaling, vector).flip(0)
        half = len(vector) // 2
        inner = scaled(weights, f"{coupling}.scalings.0", weights[f"{coupling}.first.weight"] @ vector[:half])
        inner = weights[f"{coupling}.second.weight"] @ inner.clamp(min=0)
        inner = scaled(weights, f"{coupling}.scalings.1", inner).clamp(min=0)
        shift = linear(weights, f"{coupling}.last", inner) * torch.exp(3 * weights[f"{coupling}.size"])
        vector = torch.cat([vector[:half], vector[half:] + shift])
        if step == depth - 1 and level < levels - 1:
            half = len(vector) // 2
            done.append(vector[half:])
            vector = vector[:half]
    return torch.cat([*done, vector])


def scaled(weights, name, vector):
    """ActNorm, with three times the trained number as the logarithm of the scale."""
    return (vector + weights[f"{name}.shift"]) * torch.exp(3 * weights[f"{name}.size"])


def volume(weights, vector, levels, depth, **how):
    """log |det| of the flow's Jacobian at a vector, from its slopes."""
    slopes = torch.autograd.functional.jacobian(
        lambda x: flowed(weights, x, levels, depth, **how), vector, create_graph=True, vectorize=True
    )
    return torch.linalg.slogdet(slopes).logabsdet


@pytest.mark.parametrize(("levels", "depth", "width"), [(3, 3, 16), (3, 2, 13), (2, 1, 5)])
def test_the_growth_of_a_flow_is_that_of_its_jacobian(levels, depth, width):
    torch.manual_seed(0)
    flow = Flow(width, levels, depth, inner=8).double()
    with torch.no_grad():
        for weight in flow.parameters():
            weight.add_(torch.randn_like(weight) * 0.1)
    weights, given = wide(flow), torch.randn(3, width).double()
    for vector, mapped in zip(given, flow(given), strict=True):
        assert torch.allclose(flowed(weights, vector, levels, depth, under=""), mapped, atol=1e-12)
        assert volume(weights, vector, levels, depth, under="").item() == pytest.approx(flow.growth().item(), abs=1e-9)


@pytest.mark.product(1)
@pytest.mark.parametrize("reads", READS)
@pytest.mark.parametrize("settings", [{}, {"levels": 2, "depth": 1, "inner": 8}], ids=["3 levels", "2 levels"])
def test_the_loss_of_a_flow_is_the_papers(shallow, reads, settings):
    method = shallow.method("flow", reads=reads, **settings)
    shape = settings.get("levels", 3), settings.get("depth", 3)

    def by_hand(weights):
        bits = []
        for sentence in FIRST:
            with torch.no_grad():
                vector = read(layers(weights, shallow.ids(sentence)), READS[reads])
            likely = sum(-0.5 * (number**2 + math.log(2 * math.pi)) for number in flowed(weights, vector, *shape))
            bits.append(-(volume(weights, vector, *shape) + likely) / (len(vector) * math.log(2)))
        return mean(bits)

    assert_same(method, [FIRST], by_hand)


@pytest.mark.parametrize("reads", READS)
def test_a_flow_begins_with_mean_0_and_variance_1_in_every_step(shallow, reads):
    method = shallow.method("flow", reads=reads, levels=1, depth=1)
    finish(method.fit(MANY))
    weights = wide(method)
    first = MANY[:: len(MANY) // 64][:64]  # from all over the text
    with torch.no_grad():
        vectors = torch.stack([read(layers(weights, shallow.ids(one, POSITIONS)), READS[reads]) for one in first])
    spread = ((vectors - vectors.mean(0)) ** 2).mean(0).sqrt() + 1e-6
    assert torch.allclose(weights["map.flow.scalings.0.shift"], -vectors.mean(0), atol=1e-5)
    assert torch.allclose(torch.exp(3 * weights["map.flow.scalings.0.size"]), 1 / spread, rtol=1e-3)


@pytest.mark.parametrize(("reads", "dimensions"), [("first-last mean", 0), ("first-last mean", 6), ("cls", 6)])
def test_whitened_cosines_are_those_of_eigenvectors(shallow, reads, dimensions):
    method = shallow.method("whitening", reads=reads, dimensions=dimensions)
    finish(method.fit(MANY))
    weights = wide(method)
    with torch.no_grad():
        vectors = {
            one: read(layers(weights, shallow.ids(one, POSITIONS)), READS[reads]).numpy() for one in {*MANY, *FIRST}
        }
    fitted = [vectors[one] for one in MANY]
    mean_of_all = sum(fitted) / len(fitted)
    covariance = sum(np.outer(one - mean_of_all, one - mean_of_all) for one in fitted) / (len(fitted) - 1)
    variances, directions = np.linalg.eigh(covariance)
    largest = np.argsort(-variances)[: dimensions or sum(variances > 1e-10 * variances.max())]
    white = [(vectors[one] - mean_of_all) @ directions[:, largest] / np.sqrt(variances[largest]) for one in FIRST]
    expected = [[a @ b / np.linalg.norm(a) / np.linalg.norm(b) for a in white] for b in white]
    found = vectors_of(method, FIRST)
    assert found.shape[1] == len(largest) == (dimensions or 31), "layer norm leaves a plane"
    assert (found @ found.T).numpy() == pytest.approx(np.array(expected), abs=2e-3 if not dimensions else 1e-4)


def test_variances_and_directions_are_those_of_sums_over_rows():
    rows = np.random.default_rng(0).normal(size=(40, 5)) * [3, 1, 2, 0.5, 4]
    centred = rows - rows.mean(0)
    directions, variances = post_processing.principal(torch.from_numpy(centred))
    covariance = np.array([[sum(row[i] * row[j] for row in centred) / 39 for i in range(5)] for j in range(5)])
    for direction, variance in zip(directions.T.numpy(), variances.numpy(), strict=True):
        assert covariance @ direction == pytest.approx(variance * direction, abs=1e-9)
    assert list(variances) == sorted(variances, reverse=True)


def triangle(columns):
    """R of a QR by Gram and Schmidt."""
    basis, upper = [], np.zeros((len(columns), len(columns)))
    for place, column in enumerate(columns):
        rest = column.astype(float).copy()
        for row, direction in enumerate(basis):
            upper[row, place] = direction @ rest
            rest -= upper[row, place] * direction
        upper[place, place] = np.linalg.norm(rest)
        basis.append(rest / upper[place, place])
    return upper


def word(states, window, whole):
    """One word's layers (layer, width) as one vector, and how much the word changes: SBERT-WK, section III."""
    aligned, novel = [], []
    for layer in range(len(states)):
        below = range(max(0, layer - window), layer) if whole or layer >= window else ()
        above = range(layer + 1, min(len(states), layer + window + 1))
        upper = triangle([*(states[other] for other in (*below, *above)), states[layer]])
        own, others = upper[:, -1], upper[:-1, :-1]
        toward = sum(column / np.linalg.norm(column) for column in others.T) / others.shape[1]
        aligned.append(1 / (2 * len(upper) * (toward @ own[:-1] / np.linalg.norm(own[:-1]))))
        novel.append(abs(own[-1]) / np.linalg.norm(own))
    shares = [(a / sum(aligned) + n / sum(novel)) / 2 for a, n in zip(aligned, novel, strict=True)]
    steps = [a @ b / np.linalg.norm(a) / np.linalg.norm(b) for a, b in itertools.pairwise(states)]
    return sum(share * state for share, state in zip(shares, states, strict=True)), np.var(steps)


@pytest.mark.parametrize(
    "settings",
    [{}, {"first_layer": 0}, {"first_layer": 1, "window": 1}, {"first_layer": 0, "window": 3, "whole_window": True}],
    ids=str,
)
def test_wk_weights_layers_and_words_as_the_paper(deep, settings):
    method = deep.method("wk", **settings)
    weights = wide(method)
    first = min(settings.get("first_layer", 4), 3)  # of five layers, three at least
    expected = []
    for sentence in FIRST:
        with torch.no_grad():
            states = torch.stack(layers(weights, deep.ids(sentence, POSITIONS))[first:], dim=1).numpy()
        found = [word(one, settings.get("window", 2), settings.get("whole_window", False)) for one in states[:-1]]
        total = sum(change for _, change in found)
        expected.append(sum(change / total * vector for vector, change in found))
    found = vectors_of(method, FIRST).numpy()
    assert np.abs(expected).max() > 0.1
    assert found == pytest.approx(np.array(expected), abs=1e-3)


METHOD, STEPS = "simcse-hard", 4
SHARED = {"steps": STEPS, "evaluate_every": 1, "keep_steps": True, "epsilon": 1e-4, "batch_size": 4, "temperature": 0.2}
SHARED |= {"pooling": "cls"}
SCHEDULES = {
    "warmup, decay, clipping": SHARED | {"warmup": 0.5, "weight_decay": 0.3, "beta2": 0.9, "clip": 1.0},
    "two batches a step": SHARED | {"accumulate": 2, "decay": "none", "clip": 0.0, "beta2": 0.99},
}


def rate(step: int, peak: float, warmup: int, decay: str) -> float:
    """The learning rate of an update, counted from 0: up in a line to the peak, then down to 0 after the last."""
    if step < warmup:
        return peak * (step + 1) / warmup
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
        now = rate(step, chosen.learning_rate, int(chosen.warmup * STEPS), chosen.decay)
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
        for name, weight in load_file(run.folder / "steps" / f"step-{step}" / "model.safetensors").items():
            if not name.startswith("pooler."):  # of the base; no method uses it
                moved = expected[f"base.model.{name}"]
                assert torch.allclose(weight.double(), moved, rtol=0, atol=2e-5), (step, name)
    start, end = by_hand.weights[0], by_hand.weights[-1]
    assert max(float((end[name] - start[name]).detach().abs().max()) for name in start) > 1e-3, "something was learned"


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_every_step_of_a_run_is_adamw_by_hand(tmp_path, schedule):
    calm = furnish(tmp_path, dropout=0.0)
    with in_no_time(), few_probes():
        by_hand = ByHand(calm, schedule)
        run = train(new(calm, METHOD, settings=SCHEDULES[schedule]))
    if by_hand.chosen.clip:
        assert min(by_hand.lengths) > 1, "the premise: every gradient is clipped"
    assert_followed(run, by_hand)


def in_each_process(folder: Path, file: Path) -> None:
    """The loss and gradients of every method on half the rows; the first process saves them."""
    rank, found = dist.get_rank(), {}
    for name in TUNING:
        method = ready(name, folder)
        half = [column[2 * rank : 2 * rank + 2] for column in columns_of(method)]
        module = DistributedDataParallel(method)  # it has to be there until the gradients are
        loss = loss_of(module, half)
        loss.backward()
        found[name] = loss.item(), gradients(method)
    if rank == 0:
        torch.save(found, file)
    # they would hold the group's threads until after the interpreter has gone, which aborts now and then
    del module, loss


loaded = cache(encoder_of)  # every method trains a copy of it


def ready(name: str, folder: Path) -> Method:
    """A method that has already learned a little, without dropout."""
    torch.manual_seed(0)
    kind = methods.load(name)
    generator = str(folder.parent / "generator")
    settings = {"temperature": 0.5, "scale": 2.0, "similarity": "dot product", "generator": generator}
    mild = {knob: value for knob, value in settings.items() if knob in kind.knobs}
    with mock.patch.object(self_guided, "PROJECTION", 64):
        method = kind(Tunable(loaded(folder), 64), mild).eval()
    with torch.no_grad():
        for weight in method.base.model.encoder.parameters():
            weight.add_(torch.randn(weight.shape), alpha=0.1)
    return method


def loss_of(module: torch.nn.Module, columns: Sequence[list[str]]) -> torch.Tensor:
    """The loss of these rows, with nothing drawn."""
    with ExitStack() as stack:
        for name, fixed in FIXED_DRAWS.items():
            stack.enter_context(mock.patch(name, fixed))
        return module(*columns)


def gradients(method: Method) -> dict[str, torch.Tensor]:
    """Those of the encoder; the others are the same sum, and many."""
    return {name: weight.grad for name, weight in method.base.named_parameters() if weight.requires_grad}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """An encoder, and beside it a generator for the methods that need one."""
    place = tmp_path_factory.mktemp("together")
    save_generator(place / "generator")
    return save_tiny("bert", place / "bert")


@pytest.fixture(scope="module")
def two_processes(tmp_path_factory, folder, words_with_opposites) -> dict:
    place = tmp_path_factory.mktemp("processes")
    in_a_group_of_two(in_each_process, folder, place / "found", folder=place)
    return torch.load(place / "found")


@pytest.mark.usefixtures("words_with_opposites")
@pytest.mark.parametrize("name", TUNING)
def test_two_processes_learn_what_one_would(two_processes, folder, name):
    method = ready(name, folder)
    columns = columns_of(method)
    loss = loss_of(method, columns)
    loss.backward()
    shared, together = two_processes[name]
    assert shared == pytest.approx(loss.item(), rel=1e-5, abs=1e-7), "a divergence near 0 is a sum of larger numbers"
    alone = gradients(method)
    assert together.keys() == alone.keys()
    size = max(gradient.abs().max() for gradient in alone.values())
    assert size > 1e-3
    for where, gradient in alone.items():
        assert torch.allclose(together[where], gradient, atol=1e-4 * size.item()), where
    halves = [loss_of(method, [column[half] for column in columns]).item() for half in (slice(0, 2), slice(2, 4))]
    meets = sum(halves) / 2 != pytest.approx(loss.item(), rel=1e-2)
    assert meets == (name in COMPARING), "otherwise it would not matter who meets whom"


def test_two_processes_take_the_steps_of_a_run_by_hand(tmp_path):
    calm, schedule = furnish(tmp_path, dropout=0.0), next(iter(SCHEDULES))
    words = words_of(recipe(calm, METHOD, settings=SCHEDULES[schedule]))
    words += ["--name", "two", "--out", str(calm.runs)]
    assert ended(two(command, lambda rank: (words, tmp_path / f"told.{rank}"))) == (0, 0)
    with in_no_time():
        by_hand = ByHand(calm, schedule)
    assert_followed(runs.find("two", calm.runs), by_hand)
