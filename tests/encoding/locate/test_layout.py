"""Test the layers, the files and the family that a folder states before its model is loaded."""

import json
import os
import re

import pytest
import torch
from safetensors.torch import save_file
from transformers import AutoConfig, AutoModel
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, MODEL_FOR_MASKED_LM_MAPPING_NAMES

from explorer.encoding.load.declared import poolings
from explorer.encoding.locate import families, layout, model_names, weights
from explorer.encoding.read.pooling import DECODER_POOLINGS, GRID_POOLINGS
from explorer.errors import NotAModelFolder, NotWeights, StrataError, UnsupportedModel
from tests.spoiling import configure, encoder_of
from tests.tiny_models import FAMILIES, LAYERS, save_tiny


@pytest.mark.parametrize("kind", FAMILIES)
def test_the_last_layer_is_told_before_loading_as_it_is_after(tmp_path, kind):
    folder = save_tiny(kind, tmp_path / kind)
    assert layout.last_layer(folder) == encoder_of(folder).rows[LAYERS].layers[0] == LAYERS


def test_the_last_layer_of_a_transformer_in_a_folder_of_its_own_is_told(bert, tmp_path):
    outer = tmp_path / "outer"
    outer.mkdir()
    bert.rename(outer / "0_Transformer")
    (outer / "modules.json").write_text(json.dumps([{"path": "0_Transformer", "type": "a.Transformer"}]))
    assert layout.last_layer(outer) == LAYERS


def test_the_last_layer_is_told_without_the_weights(bert):
    for path in layout.weights(bert):
        path.unlink()
    assert layout.last_layer(bert) == LAYERS


@pytest.mark.parametrize("stated", ["two", True, 0, -1, 2.0, [2], 1001, 1_000_000, 10**299])
def test_a_number_of_layers_that_no_model_has_is_refused_with_what_is_allowed(bert, stated):
    configure(bert / "config.json", num_hidden_layers=1000)
    assert layout.last_layer(bert) == 1000
    configure(bert / "config.json", num_hidden_layers=stated)
    named = re.escape(repr(stated)[:10])
    with pytest.raises(UnsupportedModel, match=f"num_hidden_layers is {named}.*, which is not .* from 1 to 1000. Save"):
        layout.last_layer(bert)


def test_a_config_that_does_not_say_how_many_layers_is_refused(bert):
    configure(bert / "config.json", num_hidden_layers=None)
    with pytest.raises(
        UnsupportedModel, match=r"config.json does not say how many layers the model has \(one of num_h"
    ):
        layout.last_layer(bert)


def test_what_is_no_folder_of_a_model_is_refused_in_words(bert, tmp_path):
    for folder in (tmp_path / "nowhere", bert / "config.json"):
        with pytest.raises(StrataError, match=r"does not say how many layers|cannot be read: Not a directory"):
            layout.last_layer(folder)
    (bert / "config.json").unlink()
    (bert / "config.json").mkdir()
    with pytest.raises(NotAModelFolder, match=r"config.json cannot be read: Is a directory. Check its permissions"):
        layout.last_layer(bert)


def test_a_module_without_a_folder_has_no_say(bert):
    alone = layout.parts(bert)
    lines = [{"type": "a.Transformer", "path": ""}, {"type": "a.Normalize", "path": "2_Normalize"}]
    (bert / "modules.json").write_text(json.dumps(lines))
    assert layout.parts(bert) == tuple(sorted((*alone, bert / "modules.json")))


@pytest.mark.parametrize("name", ["modules.json", "config.json"])
def test_a_named_pipe_in_place_of_a_file_is_refused(tmp_path, name):
    os.mkfifo(tmp_path / name)
    with pytest.raises(NotAModelFolder, match="not a regular file"):
        layout.last_layer(tmp_path)


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


def folder(path, **config):
    (path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("kind", "layers", "width", "family"),
    [
        ("bert", 12, 768, "BERT-base"),
        ("bert", 24, 1024, "BERT-large"),
        ("roberta", 12, 768, "RoBERTa-base"),
        ("roberta", 24, 1024, "RoBERTa-large"),
        ("bert", 6, 384, ""),
        ("xlm-roberta", 12, 768, ""),
        ("distilbert", None, None, ""),
        (["bert"], {"layers": 12}, "768", ""),
    ],
)
def test_a_family_is_an_architecture_of_a_size(tmp_path, kind, layers, width, family):
    model = folder(tmp_path, model_type=kind, num_hidden_layers=layers, hidden_size=width)
    assert layout.family(model) == model_names.family(str(model)) == family


def test_a_model_that_is_not_here_has_none(tmp_path):
    assert model_names.family(str(tmp_path / "nowhere")) == ""


def test_every_type_is_one_of_transformers_and_has_one_row():
    types = [kind for row in families.FAMILIES for kind in row.types]
    assert len(types) == len(set(types))
    assert set(types) <= set(CONFIG_MAPPING)


# the AutoModel of the first three sees both sides; the others have an encoder, which only an instance says
OTHERWISE = {"bert-generation", "cpmant", "xlnet", "musicgen", "musicgen_melody"}
SIZES = {
    "vocab_size": 64,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 0,
    "eos_token_id": 0,
}
OPT = {"ffn_dim": 64, "word_embed_proj_dim": 32}
OTHERS = {"opt": OPT, "gpt_neox": {}, "mistral": {"num_key_value_heads": 1}, "qwen3": {"num_key_value_heads": 1}}


def states(encoder, ids: list[int]) -> torch.Tensor:
    """The states (layer, sentence, token, width) of one list of tokens."""
    return torch.stack(encoder.model(input_ids=torch.tensor([ids]), output_hidden_states=True).hidden_states)


def test_the_types_are_those_of_the_installed_release():
    listed = set(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES) - set(MODEL_FOR_MASKED_LM_MAPPING_NAMES) - OTHERWISE
    with_an_encoder = {kind for kind in listed if getattr(CONFIG_MAPPING[kind], "is_encoder_decoder", False)}
    assert listed - with_an_encoder == {kind for row in families.FAMILIES if row.decoder for kind in row.types}


@pytest.mark.parametrize("kind", [kind for kind in FAMILIES if kind != "bart"])
def test_in_a_decoder_alone_later_tokens_do_not_change_the_first(kind, tmp_path):
    folder = save_tiny(kind, tmp_path / kind)
    encoder = encoder_of(folder)
    one, other = ([7, 8, 9, 10], [7, 11, 12, 13])
    with torch.inference_mode():
        before, after = (states(encoder, ids)[:, 0, 0] for ids in (one, other))
    same = torch.allclose(before[1:], after[1:], atol=1e-6)
    assert families.is_decoder(layout.settings(folder)) == same
    assert encoder.poolings == poolings(folder) == (DECODER_POOLINGS if same else GRID_POOLINGS)


@pytest.mark.parametrize("kind", OTHERS)
def test_other_decoders_are_known_too(kind, tmp_path):
    torch.manual_seed(0)
    model = AutoModel.from_config(AutoConfig.for_model(kind, **SIZES | OTHERS[kind])).eval()
    model.config.save_pretrained(tmp_path)
    with torch.inference_mode():
        one, other = (
            model(input_ids=torch.tensor([ids]), output_hidden_states=True).hidden_states
            for ids in ([7, 8, 9], [7, 10, 11])
        )
    assert families.is_decoder(layout.settings(tmp_path))
    for before, after in zip(one, other, strict=True):
        assert torch.allclose(before[:, 0], after[:, 0], atol=1e-6)


def test_a_decoder_whose_settings_let_tokens_see_both_sides_is_none(tmp_path):
    folder = save_tiny("llama", tmp_path / "llama")
    configure(folder / "config.json", is_causal=False)
    encoder = encoder_of(folder)
    with torch.inference_mode():
        before, after = (states(encoder, ids)[-1, 0, 0] for ids in ([7, 8, 9, 10], [7, 11, 12, 13]))
    assert not torch.allclose(before, after, atol=1e-3)
    assert not families.is_decoder(layout.settings(folder))
    assert encoder.poolings == GRID_POOLINGS


def test_a_folder_without_settings_is_no_decoder(tmp_path):
    assert not families.is_decoder(layout.settings(tmp_path))
