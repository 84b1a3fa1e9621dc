"""Test models that are kept as adapters of their base: trained as one or in full, with a pooler over layers."""

import shutil

import pytest
import torch

from explorer.encoding.export import adapter
from explorer.encoding.export.exporting import export
from explorer.encoding.read.head import Dense, Head
from explorer.encoding.read.parts.layer_attention import LayerAttention
from explorer.encoding.tune.lora import ALL_LINEAR, Lora
from explorer.encoding.tune.tunable import Tunable
from tests.exports import TEXTS, as_trained, assert_close, by_strata
from tests.spoiling import encoder_of
from tests.tiny_models import WIDTH, save_tiny


@pytest.mark.parametrize("lora", [Lora(1, 16.0, ALL_LINEAR), Lora(2, 4.0, "attention"), None], ids=str)
def test_a_model_with_a_pooler_encodes_the_same_from_its_adapter(tmp_path, lora):
    base = save_tiny("bert", tmp_path / "base")
    encoder = encoder_of(base)
    tuned = Tunable(encoder, 64, lora)
    torch.manual_seed(3)
    maps = (torch.randn(6, WIDTH) * 0.3 for _ in range(3))
    head = Head(
        ("cls",), (Dense(torch.randn(WIDTH, WIDTH + 6), torch.zeros(WIDTH), "Tanh"),), layers=LayerAttention(*maps)
    )
    untouched = as_trained(tuned, head)
    with torch.no_grad():
        for weight in tuned.parameters():
            if weight.requires_grad:
                weight += 0.1 * torch.randn_like(weight)
    trained = as_trained(tuned, head)
    factors = adapter.factors(encoder.model, tuned.model, lora.rank if lora else 4)
    adapter.apply(tuned.model, encoder.model, factors)
    expected = as_trained(tuned, head)
    assert not torch.allclose(expected, untouched, atol=1e-2)
    assert torch.allclose(expected, trained, atol=1e-2) == (lora is not None), "half precision, or a cut to rank 4"
    export(tuned, head, tmp_path / "whole", "# card", None)
    adapter.save(factors, str(base), tmp_path / "whole", tmp_path / "adapter")
    shutil.rmtree(tmp_path / "whole")
    assert_close(by_strata(tmp_path / "adapter", TEXTS), expected)
