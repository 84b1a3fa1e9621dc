"""Attention in float32 gives a bfloat16 model what torch's own attention gives it, no less exactly."""

import pytest
import torch
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import of_folder
from explorer.encoding.read import attention
from explorer.encoding.tune.tunable import Tunable
from tests.tiny_models import FAMILIES, SENTENCES, save_tiny


@pytest.fixture(scope="module", params=FAMILIES)
def folder(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("attention") / request.param
    save_tiny(request.param, folder)
    return folder


def last_states(encoder, sentences):
    states = encoder.states(sentences)
    return states.hidden[-1][states.mask].double()


def test_a_family_has_the_states_of_its_own_attention(folder, monkeypatch):
    found = of_folder("tiny", folder)
    exact = load(found, precision="float32", device="cpu")
    new = load(found, precision="bfloat16", device="cpu")
    monkeypatch.setattr(attention, "preferred", lambda asked, precision, device: asked)
    old = load(found, precision="bfloat16", device="cpu")
    assert old.model.config._attn_implementation in (attention.SDPA, attention.EAGER)
    for sentences in (SENTENCES, SENTENCES[:1]):  # with padding and without
        due = last_states(exact, sentences)
        by_old, by_new = ((last_states(one, sentences) - due).abs().mean() for one in (old, new))
        assert by_new <= 1.1 * by_old + 1e-4
        assert by_new < 0.02


@pytest.mark.parametrize("tokens", [1, 7, 15, 16, 17, 40])
@pytest.mark.parametrize("masked", ["nothing", "keys", "added numbers", "what follows", "a bias"])
def test_it_is_the_softmax_of_the_products(tokens, masked):
    torch.manual_seed(tokens)
    query, key, value = torch.randn(3, 4, 2, tokens, 8, dtype=torch.bfloat16)
    seen = torch.ones(4, 1, tokens, tokens, dtype=torch.bool)
    if masked == "what follows":
        seen = seen.tril()
    elif masked in ("keys", "added numbers"):
        seen[1, :, :, max(1, tokens - 3) :] = False
    mask = {
        "keys": seen,
        "added numbers": torch.zeros(seen.shape, dtype=torch.bfloat16).masked_fill(~seen, float("-inf")),
    }.get(masked)
    bias = torch.randn(1, 2, tokens, tokens, dtype=torch.bfloat16) if masked == "a bias" else None
    module = torch.nn.Module()
    module.is_causal = masked == "what follows"
    found, _ = attention.in_float32(module, query, key, value, mask, scaling=0.5, position_bias=bias)
    wide = 0.5 * query.double() @ key.double().transpose(2, 3) + (0 if bias is None else bias.double())
    due = wide.masked_fill(~seen, float("-inf")).softmax(-1) @ value.double()
    assert found.dtype == torch.bfloat16
    torch.testing.assert_close(found.double(), due.transpose(1, 2), rtol=2**-8, atol=1e-6)


def test_only_bfloat16_on_a_processor_is_computed_so(folder):
    assert attention.preferred("sdpa", "float32", "cpu") == "sdpa"
    assert attention.preferred("sdpa", "bfloat16", "cuda") == "sdpa"
    assert attention.preferred("eager", "bfloat16", "cpu") == "eager"
    config = load(of_folder("tiny", folder), precision="bfloat16", device="cpu").model.config
    others = {"mpnet": "eager", "deberta-v2": "eager", "t5": "sdpa", "bart": "sdpa"}
    assert config._attn_implementation == others.get(folder.name, attention.SDPA_IN_FLOAT32)
    assert attention.SDPA_IN_FLOAT32 not in config.to_json_string()


@pytest.mark.parametrize("tokens", [5, 16, 20])
def test_its_gradient_under_autocast_is_that_of_float64(tokens):
    torch.manual_seed(tokens)
    given = torch.randn(3, 4, 2, tokens, 8, dtype=torch.bfloat16)
    seen = torch.ones(4, 1, tokens, tokens, dtype=torch.bool)
    seen[1, :, :, 3:] = False
    gradients = []
    for kind in (torch.bfloat16, torch.float64):
        query, key, value = (one.to(kind).requires_grad_() for one in given)
        if kind == torch.bfloat16:
            with torch.autocast("cpu", torch.bfloat16):
                found, _ = attention.in_float32(torch.nn.Module(), query, key, value, seen, scaling=0.5)
        else:
            weights = (0.5 * query @ key.transpose(2, 3)).masked_fill(~seen, float("-inf")).softmax(-1)
            found = (weights @ value).transpose(1, 2)
        found.double().square().sum().backward()
        gradients.append([one.grad.double() for one in (query, key, value)])
    for one, due in zip(*gradients, strict=True):
        torch.testing.assert_close(one, due, rtol=0.02, atol=0.02)


def test_dropout_and_float32_are_computed_as_torch_does():
    query, key, value = torch.randn(3, 2, 2, 5, 8)
    for kind, dropout in ((torch.bfloat16, 0.5), (torch.float32, 0.0)):
        found = []
        for compute in (attention.in_float32, sdpa_attention_forward):
            torch.manual_seed(1)
            states, _ = compute(
                torch.nn.Module(),
                *(one.to(kind) for one in (query, key, value)),
                None,
                dropout=dropout,
                is_causal=False,
            )
            found.append(states)
        assert torch.equal(*found)


def test_a_model_in_training_has_it_and_its_encoder_does_not(folder):
    encoder = load(of_folder("tiny", folder), precision="float32", device="cpu")
    before = encoder.model.config._attn_implementation
    trained = Tunable(encoder, 16).model.config._attn_implementation
    able = before == attention.SDPA and type(encoder.model)._supports_attention_backend
    assert trained == (attention.SDPA_IN_FLOAT32 if able else before)
    assert encoder.model.config._attn_implementation == before
