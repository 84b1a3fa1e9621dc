"""Test two processes with half the rows each against one with all: every method's gradient, and a run by hand."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from unittest import mock

import pytest
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from explorer import methods
from explorer.encoding.tune.tunable import Tunable
from explorer.methods import Method, self_guided
from explorer.training.record import runs
from tests.independent.adamw import METHOD, SCHEDULES, ByHand, assert_followed
from tests.methods.hub import save_generator
from tests.methods.rows import COLUMNS, COMPARING, FIXED_DRAWS, TUNING
from tests.processes import ended, in_a_group_of_two, two
from tests.spoiling import encoder_of
from tests.tiny_models import save_tiny
from tests.trainings import command, furnish, in_no_time, recipe, words_of


def in_each_process(folder: Path, file: Path) -> None:
    """The loss and gradients of every method on half the rows; the first process saves them."""
    rank, found = dist.get_rank(), {}
    for name in TUNING:
        method = ready(name, folder)
        half = [column[2 * rank : 2 * rank + 2] for column in COLUMNS[method.rows]]
        module = DistributedDataParallel(method)  # it has to be there until the gradients are
        loss = loss_of(module, half)
        loss.backward()
        found[name] = loss.item(), gradients(method)
    if rank == 0:
        torch.save(found, file)
    # they would hold the group's threads until after the interpreter has gone, which aborts now and then
    del module, loss


def ready(name: str, folder: Path) -> Method:
    """A method that has already learned a little, without dropout."""
    torch.manual_seed(0)
    kind = methods.load(name)
    generator = str(folder.parent / "generator")
    settings = {"temperature": 0.5, "scale": 2.0, "similarity": "dot product", "generator": generator}
    mild = {knob: value for knob, value in settings.items() if knob in kind.knobs}
    with mock.patch.object(self_guided, "PROJECTION", 64):
        method = kind(Tunable(encoder_of(folder), 64), mild).eval()
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
    columns = COLUMNS[method.rows]
    loss = loss_of(method, columns)
    loss.backward()
    shared, together = two_processes[name]
    assert shared == pytest.approx(loss.item(), rel=1e-5)
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
