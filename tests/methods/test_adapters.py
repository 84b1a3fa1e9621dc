"""Test that every method that trains an encoder trains adapters in its place, and nothing else of the encoder."""

import pytest
import torch

from explorer import methods
from explorer.encoding.tune.tunable import TARGETS, Lora, Tunable
from explorer.methods import ADAPTERS, Fitting, Schedule
from explorer.progress import finish
from explorer.training.loop.learner import changing
from explorer.training.recipe import knobs_of
from tests.device import DEVICE
from tests.methods.rows import MANY, TUNING, take_steps

pytestmark = pytest.mark.device

KINDS = [(name, {}) for name in TUNING] + [("tsdae", {"tied": False})]


# which layers have an adapter is up to the encoder, not to the method: one half of the methods each
@pytest.fixture(params=[(*one, TARGETS[number % 2]) for number, one in enumerate(KINDS)], ids=str)
def method(request, tiny_encoder):
    name, values, targets = request.param
    torch.manual_seed(0)
    found = methods.load(name)(Tunable(tiny_encoder, 64, Lora(2, 4.0, targets)), values).to(DEVICE)
    if isinstance(found, Fitting):
        finish(found.fit(MANY))
    return found


def test_two_steps_change_adapters_and_own_parts_alone(method, tiny_encoder):
    names = set(tiny_encoder.model.state_dict())
    base = {name: weight.clone() for name, weight in tiny_encoder.model.state_dict().items()}
    before = {name: weight.detach().clone() for name, weight in method.base.named_parameters()}
    take_steps(method)
    own = {name for name, weight in method.base.named_parameters() if not torch.equal(weight, before[name])}
    assert own, "the encoder learns"
    assert all(".lora_A." in name or ".lora_B." in name for name in own)
    assert all(torch.equal(weight, base[name]) for name, weight in tiny_encoder.model.state_dict().items())
    for part in method.modules():
        if isinstance(part, Tunable):  # momentum copies and frozen ones too
            assert {name for name, _ in part.plain().named_parameters()} <= names


def test_a_stopped_run_saves_no_weight_that_adapters_leave_as_it_was(method, tiny_encoder):
    held = {id(weight) for weight in tiny_encoder.model.parameters()}
    assert not held & {id(weight) for weight in changing(method).values()}
    saved = {id(weight) for weight in changing(method).values()}
    assert {id(weight) for weight in method.parameters() if weight.requires_grad} <= saved
    before = {name: weight.detach().clone() for name, weight in method.named_parameters()}
    take_steps(method)
    moved = {id(weight) for name, weight in method.named_parameters() if not torch.equal(weight, before[name])}
    assert moved <= saved, "what changes is saved, with or without a gradient"


def test_the_settings_are_those_of_the_methods_that_train_an_encoder():
    for name in methods.names():
        assert (set(ADAPTERS) <= set(knobs_of(methods.load(name)))) == (name in TUNING)
        assert name in TUNING or not set(ADAPTERS) & set(knobs_of(methods.load(name)))


def test_rank_0_trains_all_weights_and_any_other_one_adapters():
    assert Schedule().lora is None
    assert Schedule(lora_rank=8).lora == Lora(8, 16.0, "attention")
    assert Schedule(lora_rank=4, lora_alpha=2, lora_targets="all linear").lora == Lora(4, 2.0, "all linear")
