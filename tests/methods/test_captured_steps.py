"""Test passes that are captured and repeated: every method and family learns from them what it learns without."""

from unittest import mock

import pytest
import torch

from explorer import methods
from explorer.encoding.tune import captured_passes
from explorer.encoding.tune.adapters import ALL_LINEAR, Lora
from explorer.encoding.tune.captured_passes import CapturedPass, CapturedPasses, Gradients
from explorer.encoding.tune.tunable import CHANGED, Tunable
from tests.captured_operators import CapturedOperators
from tests.device import DEVICE
from tests.methods.rows import FIRST, columns_of, descend
from tests.spoiling import encoder_of
from tests.tiny_models import FAMILIES, save_tiny

pytestmark = pytest.mark.device

NEVER = 10**9
EDITING = {"consert", "diffcse", "layer-attention-diffcse"}  # the latter two change embeddings in one of their passes


@pytest.fixture(autouse=True)
def captures(monkeypatch):
    """A processor captures, too, and at once."""
    monkeypatch.setitem(captured_passes.CAPTURES, "cpu", CapturedOperators)


def stepped(method, seen):
    """The losses of four batches, each after a step, and what was said of its passes."""
    passes = CapturedPasses([part for part in method.modules() if isinstance(part, Tunable)], DEVICE)
    losses, columns = [], columns_of(method)
    torch.manual_seed(5)
    with mock.patch.object(captured_passes, "SEEN", seen):
        for turn in range(4):
            with passes.batch():
                losses += descend(method, [column[turn:] + column[:turn] for column in columns], 1)
    return torch.tensor(losses), passes.news()


def test_every_method_learns_from_repeated_passes_what_it_learns_without(trained):
    before = {name: weight.detach().clone() for name, weight in trained.named_parameters()}
    with methods.untouched(trained):
        expected, said = stepped(trained, NEVER)
    assert len(said) == (trained.name in EDITING)
    with torch.no_grad():
        for name, weight in trained.named_parameters():
            weight.copy_(before[name])
    seen, said = stepped(trained, 0)
    torch.testing.assert_close(seen, expected, atol=1e-5, rtol=1e-5)
    left_out = [captured_passes.NOT_CAPTURED.format(CHANGED)] * (trained.name in EDITING)
    assert [one for one in said if "without" in one] == left_out
    assert (len(said) > len(left_out)) == (trained.name != "consert")


def test_a_pass_with_other_heads_each_time_is_not_captured(base):
    method = methods.load("mirror-bert")(base, {"noise": "drop heads"}).to(DEVICE)
    assert stepped(method, 0)[1] == [captured_passes.NOT_CAPTURED.format(CHANGED)]
    method.noise = "dropout"
    assert stepped(method, 0)[1] != [captured_passes.NOT_CAPTURED.format(CHANGED)]


@pytest.mark.parametrize(
    ("precision", "adapters"),
    [("float32", Lora(2, 4.0, ALL_LINEAR)), ("bfloat16", None)],
    ids=["adapters in float32", "whole in bfloat16"],
)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_has_the_states_and_gradients_that_it_has_without(family, adapters, precision, tmp_path):
    """With dropout, on other rows than those it was captured with, from every layer or the last one."""
    base = Tunable(encoder_of(save_tiny(family, tmp_path / family)), 32, adapters).to(DEVICE).train()
    ids, mask = base.encoder.padded(base.encoder.tokens(FIRST, 32).ids, DEVICE, 32)
    with torch.autocast(DEVICE, torch.bfloat16, enabled=precision == "bfloat16"):
        captured = CapturedPass(base, (ids, mask), captured_passes.CAPTURES[DEVICE](), Gradients())

    def found(states, layers):
        torch.manual_seed(2)
        with torch.autocast(DEVICE, torch.bfloat16, enabled=precision == "bfloat16"):
            hidden = states(ids.flip(0), mask.flip(0))
        sum(hidden[layer].float().sin().sum() for layer in layers if hidden[layer].requires_grad).backward()
        gradients = {name: weight.grad.clone() for name, weight in base.named_parameters() if weight.grad is not None}
        base.zero_grad()
        return [state.detach().clone() for state in hidden], gradients

    for layers in (range(base.layers + 1), [-1], [1, -1]):
        states, gradients = found(lambda *given: base(*given).hidden, layers)
        again, others = found(lambda *given: captured.repeat(given), layers)
        close = {"atol": 1e-6, "rtol": 1e-5} if precision == "float32" else {"atol": 1e-3, "rtol": 1e-2}
        torch.testing.assert_close(again, states, **close)
        assert others.keys() >= gradients.keys() != set()
        for name, gradient in others.items():  # in a lower layer than those with a loss, zeros
            expected = gradients.get(name, torch.zeros_like(gradient))
            torch.testing.assert_close(gradient, expected, **close, msg=lambda text, of=name: f"{of}: {text}")


def test_gradients_are_added_to_those_that_are_there_and_stay_in_their_place(tiny_encoder):
    base = Tunable(tiny_encoder, 32).to(DEVICE)
    ids, mask = base.encoder.padded(base.encoder.tokens(FIRST, 32).ids, DEVICE)
    captured = CapturedPass(base, (ids, mask), captured_passes.CAPTURES[DEVICE](), Gradients())
    base(ids, mask).hidden[-1].sin().sum().backward()
    once = {name: weight.grad.clone() for name, weight in base.named_parameters() if weight.grad is not None}
    captured.repeat((ids, mask))[-1].sin().sum().backward()
    places = {name: weight.grad for name, weight in base.named_parameters() if weight.grad is not None}
    captured.repeat((ids, mask))[-1].sin().sum().backward()
    for name, gradient in once.items():
        torch.testing.assert_close(places[name], 3 * gradient, atol=1e-5, rtol=1e-5)
    base.zero_grad()
    captured.repeat((ids, mask))[-1].sin().sum().backward()
    for name, gradient in once.items():
        assert base.get_parameter(name).grad is places[name]
        torch.testing.assert_close(places[name], gradient, atol=1e-5, rtol=1e-5)
