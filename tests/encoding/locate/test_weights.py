"""Test that the weights of a module are refused if a number in them is not finite."""

import pytest
import torch
from safetensors.torch import save_file

from explorer.encoding.locate import weights
from explorer.errors import NotWeights


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize("ending", ["safetensors", "bin"])
def test_a_number_that_is_not_finite_is_named_with_its_weight(tmp_path, value, ending):
    tensors = {"linear.weight": torch.eye(3), "linear.bias": torch.tensor([0.0, value, 0.0])}
    if ending == "bin":
        torch.save(tensors, tmp_path / "pytorch_model.bin")
    else:
        save_file(tensors, tmp_path / "model.safetensors")
    with pytest.raises(NotWeights, match=r"'linear.bias' of .* holds NaN or infinite numbers\. Copy or download"):
        weights.of_module(tmp_path, "linear.")
