"""Test a head with a dense layer against values worked out by hand."""

import pytest
import torch

from explorer.encoding.read.head import Dense, Head


def test_a_distilled_model_with_a_dense_layer_is_read_through_its_activation():
    """DistilUSE's modules: the mean of the last layer, a dense layer and tanh; values worked out by hand."""
    weight = torch.tensor([[0.5, 0.25], [1.0, 0.0], [0.0, -1.0]])
    head = Head(("mean",), (Dense(weight, torch.tensor([0.0, 0.1, -0.2]), "Tanh"),))
    means = torch.tensor([[1.0, -2.0], [2.0, 1.0]])
    one, other = head(means[None, :, None], torch.ones(2, 1, dtype=torch.bool))
    assert one.tolist() == pytest.approx([0.0, 0.800499, 0.946806], abs=1e-6)
    assert other.tolist() == pytest.approx([0.848284, 0.970452, -0.833655], abs=1e-6)
    assert torch.cosine_similarity(one, other, dim=0).item() == pytest.approx(-0.006549, abs=1e-6)
    without = [torch.nn.functional.linear(mean, weight, torch.tensor([0.0, 0.1, -0.2])) for mean in means]
    assert torch.cosine_similarity(*without, dim=0).item() == pytest.approx(0.026117, abs=1e-6), "not this one"
