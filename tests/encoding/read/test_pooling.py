import pytest
import torch

from explorer.encoding.read.pooling import FUNCTIONS, pool_cls, pool_max, pool_mean

STATES = torch.tensor([[[-1.0, -5.0], [-3.0, -2.0], [9.0, 9.0]]])
MASK = torch.tensor([[1, 1, 0]])


def test_padding_is_never_pooled():
    assert pool_max(STATES, MASK).tolist() == [[-1.0, -2.0]]  # zeroing the padding would give [0, 0]
    assert pool_mean(STATES, MASK).tolist() == [[-2.0, -3.5]]  # without a mask: [1.67, 0.67]
    assert pool_cls(STATES, MASK).tolist() == [[-1.0, -5.0]]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("content", [0.0, 1e4, float("inf"), float("nan")])
@pytest.mark.parametrize("reading", [True, False], ids=["reading", "training"])
def test_more_padding_changes_nothing_whatever_it_holds(name, content, reading):
    states = torch.randn(3, 4, 5, generator=torch.Generator().manual_seed(0))
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0], [1, 0, 0, 0]])
    before = states.masked_fill(mask[:, :, None] == 0, content)
    padded = torch.cat([before, torch.full((3, 2, 5), content)], dim=1)
    wider = torch.cat([mask, torch.zeros(3, 2, dtype=mask.dtype)], dim=1)
    with torch.inference_mode(reading):
        assert torch.equal(FUNCTIONS[name](before, mask), FUNCTIONS[name](padded, wider))


def test_no_mask_means_that_nothing_is_padding():
    for name in FUNCTIONS:
        states = torch.randn(3, 4, 5, generator=torch.Generator().manual_seed(1))
        pooled = FUNCTIONS[name](states, torch.ones(3, 4, dtype=torch.bool))
        assert torch.allclose(FUNCTIONS[name](states, None), pooled, atol=1e-6)


def test_pooling_leaves_its_input_as_it_was():
    for name in FUNCTIONS:
        states, mask = STATES.clone(), MASK.clone()
        FUNCTIONS[name](states, mask)
        assert torch.equal(states, STATES)
        assert torch.equal(mask, MASK)


def test_pooling_bfloat16_adds_up_in_float32():
    for name in FUNCTIONS:
        states = torch.full((1, 300, 2), 1.0, dtype=torch.bfloat16)
        pooled = FUNCTIONS[name](states, torch.ones(1, 300, dtype=torch.bool))
        assert pooled.dtype == torch.float32
        # bfloat16 stops counting at 256
        assert torch.allclose(pooled, torch.full((1, 2), 300**0.5 if name == "sqrt mean" else 1.0))


def test_the_weighted_mean_is_the_slow_one():
    states = torch.randn(1, 3, 2, generator=torch.Generator().manual_seed(2))
    slow = (1 * states[0, 0] + 2 * states[0, 1]) / 3
    assert torch.allclose(FUNCTIONS["weighted mean"](states, torch.tensor([[1, 1, 0]]))[0], slow)
