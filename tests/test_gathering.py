"""Test two processes with eight rows each against one with sixteen, training a linear map."""

from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from explorer import losses
from explorer.gathering import gathered
from tests.processes import in_a_group_of_two

ROWS, WIDTH, OUT, LAYERS = 16, 6, 5, 3


def plain(rows: torch.Tensor) -> torch.Tensor:
    """The rows of every process; only the own ones have a gradient."""
    parts = [torch.empty_like(rows) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, rows.detach())
    parts[dist.get_rank()] = rows
    return torch.cat(parts)


def averaged(gradient: torch.Tensor) -> torch.Tensor:
    dist.all_reduce(gradient)
    return gradient / dist.get_world_size()


def in_each_process(file: Path) -> None:
    """The losses and gradients of half the rows; the first process saves them."""
    share = ROWS // dist.get_world_size()
    mine = slice(dist.get_rank() * share, (dist.get_rank() + 1) * share)
    found = {"world": dist.get_world_size(), "numbers": gathered(torch.full((2, 1), float(dist.get_rank())))}
    for name, formula in CASES.items():
        for way, join in (("gathered", gathered), ("plain", plain)):
            weight = weights()
            loss = formula(rows()[0][mine], rows()[1][mine], weight, join)
            loss.backward()
            each = [torch.empty_like(loss) for _ in range(dist.get_world_size())]
            dist.all_gather(each, loss.detach())
            found[name, way] = each, averaged(weight.grad)
    if dist.get_rank() == 0:
        torch.save(found, file)


def rows() -> torch.Tensor:
    """(side, sentence, layer, width), the same in every process."""
    return torch.randn(2, ROWS, LAYERS, WIDTH, generator=torch.Generator().manual_seed(0))


def weights() -> torch.Tensor:
    return torch.randn(WIDTH, OUT, generator=torch.Generator().manual_seed(1)).requires_grad_()


def info_nce(one, other, weight, join):
    return losses.info_nce(join(one[:, 0] @ weight), join(other[:, 0] @ weight), 0.1)


def self_guided_3(one, other, weight, join):
    return losses.self_guided_3(join(one[:, 0] @ weight), join(other @ weight), 0.1)


def joined_twice(one, other, weight, join):
    """Both joined tensors are given one and the same gradient, which neither may change for the other."""
    return (join(one[:, 0] @ weight) + join(other[:, 0] @ weight)).tanh().square().sum()


CASES = {"info_nce": info_nce, "self_guided_3": self_guided_3, "joined_twice": joined_twice}


@pytest.fixture(scope="module")
def two_processes(tmp_path_factory) -> dict:
    folder = tmp_path_factory.mktemp("gathering")
    in_a_group_of_two(in_each_process, folder / "found", folder=folder)
    return torch.load(folder / "found")


def alone(name: str) -> tuple[float, torch.Tensor]:
    weight = weights()
    loss = CASES[name](*rows(), weight, gathered)
    loss.backward()
    return loss.item(), weight.grad


def test_every_process_sees_the_rows_of_all_in_order_of_rank(two_processes):
    assert two_processes["world"] == 2
    assert two_processes["numbers"].tolist() == [[0.0], [0.0], [1.0], [1.0]]


@pytest.mark.parametrize("name", CASES)
def test_two_times_eight_rows_are_as_good_as_sixteen(two_processes, name):
    loss, gradient = alone(name)
    assert gradient.abs().max() > 0.01
    each, mean = two_processes[name, "gathered"]
    assert len(each) == 2
    assert [one.item() for one in each] == pytest.approx([loss, loss], rel=1e-6)
    assert torch.allclose(mean, gradient, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_without_gradients_across_processes_the_loss_is_right_and_its_gradient_is_not(two_processes, name):
    loss, gradient = alone(name)
    each, mean = two_processes[name, "plain"]
    assert [one.item() for one in each] == pytest.approx([loss, loss], rel=1e-6)
    assert (mean - gradient).abs().max() > 0.1 * gradient.abs().max()
    # each process learns from its own rows: together half of the gradient, and DDP averages
    assert torch.allclose(2 * mean, gradient, rtol=1e-5, atol=1e-6)


def test_the_loss_of_the_whole_is_not_the_mean_over_its_parts():
    weight = weights()
    whole = CASES["info_nce"](*rows(), weight, gathered)
    halves = [CASES["info_nce"](*rows()[:, half], weight, gathered) for half in (slice(0, 8), slice(8, 16))]
    assert abs(whole - sum(halves) / 2) > 0.01, "otherwise there is nothing to gather"


def test_alone_the_rows_are_the_rows():
    assert not torch.distributed.is_initialized()
    one = torch.randn(3, 2)
    assert gathered(one) is one
