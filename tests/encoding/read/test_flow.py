"""Test a flow: computed values, inverse and initialisation."""

import math

import pytest
import torch

from explorer.encoding.read.parts.flow_map import Flow, FlowMap

TWO = torch.tensor([[1.0, 2, 3, 4], [3, 6, 1, 0]])


def moved(flow):
    """The same with weights that do something: at its beginning a coupling moves nothing."""
    torch.manual_seed(1)
    with torch.no_grad():
        for weight in flow.parameters():
            weight.add_(torch.randn_like(weight) * 0.05)
    return flow


def test_one_step_gives_the_values_worked_out_for_it():
    flow = Flow(4, levels=1, steps=1)
    mapped = flow(TWO, beginning=True)
    assert flow.scalings[0].shift.tolist() == pytest.approx([-2, -4, -2, -2])
    assert (3 * flow.scalings[0].size).exp().tolist() == pytest.approx([1, 0.5, 1, 0.5], abs=1e-5)
    assert mapped.flatten().tolist() == pytest.approx([1, 1, -1, -1, -1, -1, 1, 1], abs=1e-5)
    assert flow.surprise(mapped).item() == pytest.approx(2.547096, abs=1e-5)


@pytest.mark.parametrize(("levels", "steps", "width"), [(1, 1, 8), (3, 3, 8), (3, 3, 13), (2, 1, 5)])
def test_it_begins_with_the_spread_of_the_first_vectors_whatever_its_shape(levels, steps, width):
    torch.manual_seed(0)
    first = torch.randn(50, width).double() * torch.linspace(0.5, 4, width) + 3
    flow = Flow(width, levels, steps).double()
    mapped = flow(first, beginning=True)
    assert mapped.mean(0).tolist() == pytest.approx([0] * width, abs=1e-5)
    assert mapped.std(0, correction=0).tolist() == pytest.approx([1] * width, abs=1e-4)
    spread = first.std(0, correction=0).log2().mean().item()
    assert flow.surprise(mapped).item() == pytest.approx(0.5 * math.log2(2 * math.pi * math.e) + spread, abs=1e-4)
    before = flow.scalings[0].shift.clone()
    flow(first + 7)
    assert torch.equal(flow.scalings[0].shift, before), "only the first vectors set it"


@pytest.mark.parametrize(("levels", "steps", "width"), [(1, 1, 4), (3, 3, 16), (3, 2, 13)])
def test_it_can_be_undone(levels, steps, width):
    flow = moved(Flow(width, levels, steps).double())
    torch.manual_seed(0)
    given = torch.randn(5, width).double()
    mapped = flow(given)
    assert not torch.allclose(mapped, given, atol=0.1)
    assert torch.allclose(flow.undone(mapped), given, atol=1e-9)
    assert torch.allclose(flow.float().undone(flow(given.float())), given.float(), atol=1e-4)


def test_a_number_that_never_varies_is_left_as_it_is():
    torch.manual_seed(0)
    first = torch.randn(50, 8)
    first[:, 3] = 7.0
    flow = Flow(8)
    mapped = flow(first, beginning=True)
    assert torch.isfinite(flow.surprise(mapped))
    flow.surprise(flow(first + 1e-3)).backward()
    assert all(weight.grad.abs().max() < 1e3 for weight in flow.parameters())


def test_a_coupling_makes_nothing_of_a_volume():
    coupling = moved(Flow(6, 1, 1).double()).couplings[0]
    slopes = torch.autograd.functional.jacobian(lambda x: coupling(x[None])[0], torch.randn(6).double())
    assert torch.linalg.slogdet(slopes).logabsdet.item() == pytest.approx(0, abs=1e-12)


def test_it_has_as_many_numbers_as_the_papers():
    assert sum(weight.numel() for weight in Flow(768).parameters()) == 151_488


def test_a_map_is_kept_and_found_again(tmp_path):
    flow = FlowMap(moved(Flow(12, 2, 2, 8)))
    flow.save(str(tmp_path))
    again = FlowMap.load(str(tmp_path))
    given = torch.randn(4, 12)
    assert torch.equal(again(given), flow(given))
    assert torch.equal(again({"sentence_embedding": given})["sentence_embedding"], flow(given))
    assert not any(weight.requires_grad for weight in again.parameters())
    elsewhere = again.to("meta")
    assert elsewhere.flow.scalings[0].shift.device.type == "meta"
    assert again.flow.scalings[0].shift.device.type == "cpu", "a step of a reading stays where it is"
