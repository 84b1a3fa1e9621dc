import json

import pytest
import torch

from explorer.encoding.load import simcse_folder
from explorer.encoding.read.head import Head
from tests.spoiling import configure, encoder_of, reweigh
from tests.tiny_models import SENTENCES, WIDTH, save_tiny


@pytest.mark.parametrize(
    ("kind", "prefix", "name"), [("bert", "bert.", "BertForCL"), ("roberta", "roberta.", "RobertaForCL")]
)
@pytest.mark.parametrize("suffix", [".bin", ".safetensors"])
def test_a_simcse_save_is_its_encoder_and_its_head(tmp_path, kind, prefix, name, suffix):
    folder = save_tiny(kind, tmp_path / kind)
    expected = encoder_of(folder).states(list(SENTENCES)).hidden
    torch.manual_seed(2)
    mlp = torch.nn.Linear(WIDTH, WIDTH)
    beside = {f"mlp.dense.{key}": value for key, value in mlp.state_dict().items()} | {"lm_head.bias": torch.zeros(9)}
    reweigh(folder, lambda weights: {prefix + key: value for key, value in weights.items()} | beside, suffix)
    configure(folder / "config.json", architectures=[name])
    encoder = encoder_of(folder)
    states = encoder.states(list(SENTENCES))
    assert torch.equal(states.hidden, expected)
    assert encoder.head.describe() == "cls of the last layer → Dense 32 (tanh), as in supervised SimCSE"
    with torch.inference_mode():
        by_hand = torch.tanh(states.hidden[-1, :, 0] @ mlp.weight.T + mlp.bias)
    assert torch.allclose(encoder.head(states.hidden, states.mask), by_hand, atol=1e-6)


def test_a_simcse_save_without_its_head_and_any_other_model_have_none(bert):
    assert simcse_folder.head(bert) is None
    configure(bert / "config.json", architectures=["BertForCL"])
    assert simcse_folder.head(bert) is None


def test_a_declared_head_goes_before_a_training_head(bert):
    configure(bert / "config.json", architectures=["BertForCL"])
    reweigh(
        bert, lambda weights: weights | {"mlp.dense.weight": torch.eye(WIDTH), "mlp.dense.bias": torch.zeros(WIDTH)}
    )
    lines = [{"path": "", "type": "a.Transformer"}, {"path": "1_Pooling", "type": "a.Pooling"}]
    (bert / "modules.json").write_text(json.dumps(lines))
    assert encoder_of(bert).head == Head(("mean",))
