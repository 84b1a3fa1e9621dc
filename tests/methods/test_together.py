"""Test every method on two processes with half the rows each against one process with all."""

import os
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from unittest import mock

import huggingface_hub
import pytest
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from explorer import methods
from explorer.encoding.tune.tunable import Tunable
from explorer.methods import Method, _self_guided
from tests.methods.rows import COLUMNS, COMPARING, FIXED_DRAWS, TUNING
from tests.processes import in_a_group_of_two
from tests.spoiling import encoder_of
from tests.tiny_models import save_tiny


def in_each_process(folder: Path, file: Path) -> None:
    """The loss and gradients of every method on half the rows; the first process saves them."""
    rank, found = dist.get_rank(), {}
    huggingface_hub.constants.HF_HUB_CACHE = os.environ["HF_HUB_CACHE"]  # it may be imported already
    for name in TUNING:
        method = ready(name, folder)
        half = [column[2 * rank : 2 * rank + 2] for column in COLUMNS[method.eats]]
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
    mild = {knob: value for knob, value in {"temperature": 0.5, "scale": 2.0}.items() if knob in kind.knobs}
    with mock.patch.object(_self_guided, "PROJECTION", 64):
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
    return save_tiny("bert", tmp_path_factory.mktemp("together") / "bert")


@pytest.fixture(scope="module")
def two_processes(tmp_path_factory, folder) -> dict:
    place = tmp_path_factory.mktemp("processes")
    in_a_group_of_two(in_each_process, folder, place / "found", folder=place)
    return torch.load(place / "found")


@pytest.mark.parametrize("name", TUNING)
def test_two_processes_learn_what_one_would(two_processes, folder, name):
    method = ready(name, folder)
    columns = COLUMNS[method.eats]
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
