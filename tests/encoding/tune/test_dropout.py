import pytest
import torch
from torch import nn

from explorer.encoding.tune.dropout import Dropout, quicken


@pytest.mark.parametrize("chance", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("shape", [(400, 250), (99_999,)])
def test_as_many_numbers_fall_out_as_the_chance_says_and_the_mean_stays(chance, shape):
    torch.manual_seed(1)
    out = Dropout(chance)(torch.ones(shape))
    spread = (chance * (1 - chance) / out.numel()) ** 0.5  # of a share of so many independent draws
    assert abs(float((out == 0).float().mean()) - chance) < 4 * spread
    assert torch.allclose(out[out != 0], torch.tensor(1 / (1 - chance)))


def test_the_four_numbers_of_a_draw_fall_out_apart_from_each_other():
    torch.manual_seed(1)
    fallen = (Dropout(0.5)(torch.ones(100_000, 4)) == 0).float()
    together = torch.corrcoef(fallen.T) - torch.eye(4)
    assert together.abs().max() < 4 / 100_000**0.5


def test_the_gradient_falls_where_the_number_fell():
    numbers = torch.randn(7, 13, requires_grad=True)
    out = Dropout(0.3)(numbers)
    out.sum().backward()
    assert torch.allclose(out, numbers * numbers.grad)
    assert 0 < int((numbers.grad == 0).sum()) < numbers.numel()


def test_one_seed_draws_one_mask_and_the_next_draw_another():
    layer, ones = Dropout(0.5), torch.ones(64)
    torch.manual_seed(3)
    first, second = layer(ones), layer(ones)
    torch.manual_seed(3)
    assert torch.equal(layer(ones), first)
    assert not torch.equal(first, second)


def test_numbers_in_sixteen_bits_stay_in_sixteen_bits():
    assert Dropout(0.1)(torch.ones(8, dtype=torch.bfloat16)).dtype == torch.bfloat16


@pytest.mark.parametrize("layer", [Dropout(0.5).eval(), Dropout(0.0)])
def test_nothing_falls_out_where_nothing_should(layer):
    numbers = torch.randn(5, 5)
    assert torch.equal(layer(numbers), numbers)


def test_everything_falls_out_at_a_chance_of_one():
    assert not Dropout(1.0)(torch.ones(9)).any()


def test_every_dropout_of_a_module_is_quickened_with_its_chance_and_its_names():
    module = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Dropout(0.2), nn.Dropout(0.3, inplace=True)))
    before = list(module.state_dict())
    quicken(module)
    assert [type(child) for child in module[1]] == [Dropout, nn.Dropout]  # in place, torch's writes over its input
    assert module[1][0].p == 0.2
    assert list(module.state_dict()) == before


@pytest.mark.parametrize("learns", [True, False])
def test_a_module_that_rests_goes_on_resting(learns):
    module = nn.Sequential(nn.Dropout(0.5)).train(learns)
    quicken(module)
    assert module[0].training is learns
