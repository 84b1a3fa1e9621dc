"""Test gradient checkpointing: loss and gradients are those without it, of every method and in every family."""

import logging

import pytest
import torch
from transformers.utils.logging import warning_once

from explorer import methods
from explorer.encoding.tune.adapters import ALL_LINEAR, Lora
from explorer.encoding.tune.tunable import Tunable, all_kept, checkpointed
from explorer.errors import BadChoice, UnsupportedModel
from tests.device import DEVICE
from tests.methods.rows import TUNING, columns_of
from tests.spoiling import encoder_of
from tests.tiny_models import save_tiny

pytestmark = pytest.mark.device

WITHOUT = ("mpnet", "albert")  # transformers has no such layers
FAMILIES = ("roberta", "distilbert", "deberta-v2", "modernbert", "t5", "bart", "gpt2", "qwen2")
CACHED = {"contrast": {"chunk": 2}, "gist": {"chunk": 2}}


def gradients(name, encoder, checkpointing, values=None, adapters=None):
    """The loss of a batch with dropout, its gradients by name, and how often a layer was computed."""
    torch.manual_seed(0)
    base = Tunable(encoder, 64, adapters, checkpointing=checkpointing)
    method = methods.load(name)(base, values or {}).to(DEVICE).train()
    counts = []
    for layer in checkpointed(method):  # also of a student that is cut from the base
        part = next(one for one in layer.modules() if isinstance(one, torch.nn.Dropout | torch.nn.Linear))
        part.register_forward_hook(lambda *_: counts.append(torch.is_grad_enabled()))
    torch.manual_seed(1)
    loss = method(*columns_of(method))
    loss.backward()
    found = {name: weight.grad for name, weight in method.named_parameters() if weight.grad is not None}
    return loss.detach(), found, sum(counts)


def assert_same(name, encoder, **how):
    (loss, found, once), (again, other, twice) = (gradients(name, encoder, on, **how) for on in (False, True))
    torch.testing.assert_close(again, loss, atol=1e-6, rtol=0)
    assert other.keys() == found.keys() != set()
    for weight, gradient in found.items():
        torch.testing.assert_close(other[weight], gradient, atol=1e-6, rtol=1e-5, msg=lambda text, of=weight: of + text)
    return once, twice


@pytest.mark.parametrize("name", TUNING)
def test_every_method_has_the_loss_and_the_gradients_that_it_has_without(name, tiny_encoder):
    once, twice = assert_same(name, tiny_encoder, values=CACHED.get(name))
    assert twice >= once > 0


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_has_the_gradients_that_it_has_without_and_no_warning(family, tmp_path, monkeypatch):
    encoder, warned = encoder_of(save_tiny(family, tmp_path / family)), []
    monkeypatch.setattr(logging.Logger, "warning", lambda *given: warned.append(given))
    warning_once.cache_clear()  # a warning is given once in a process
    once, twice = assert_same("simcse", encoder)
    assert twice == 2 * once, "its layers are computed again"
    assert_same("simcse", encoder, adapters=Lora(2, 4.0, ALL_LINEAR))
    assert not warned


@pytest.mark.parametrize("family", WITHOUT)
def test_an_encoder_that_cannot_is_refused_by_its_architecture(family, tmp_path):
    with pytest.raises(
        UnsupportedModel, match=f"'tiny' is a {family}, whose layers .* Turn gradient_checkpointing off"
    ):
        Tunable(encoder_of(save_tiny(family, tmp_path / family)), 64, checkpointing=True)


def test_it_changes_no_frozen_copy_no_configuration_and_no_dropped_heads(tiny_encoder):
    base = Tunable(tiny_encoder, 64, checkpointing=True)
    assert [layer.gradient_checkpointing for layer in checkpointed(base.model)] == [True, True]
    with all_kept(base.model) as layers:
        assert layers == 2
        assert not any(layer.gradient_checkpointing for layer in checkpointed(base.model))
    assert all(layer.gradient_checkpointing for part in (base, base.another()) for layer in checkpointed(part.model))
    assert not any(layer.gradient_checkpointing for layer in checkpointed(base.frozen().model))
    assert not any(layer.gradient_checkpointing for layer in checkpointed(tiny_encoder.model))
    assert base.model.config.to_dict() == tiny_encoder.model.config.to_dict()
    with base.heads_dropped(0.0):
        pass
    with pytest.raises(BadChoice, match="gradient_checkpointing cannot be on where attention heads are dropped"):
        base.heads_dropped(0.1).__enter__()
