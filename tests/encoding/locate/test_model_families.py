"""Test that the family of an encoder is read from its config, and that nothing else is taken for one."""

import json

import pytest
import torch
from transformers import AutoConfig, AutoModel
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    MODEL_FOR_MASKED_LM_MAPPING_NAMES,
)

from explorer.encoding.load.declared import poolings
from explorer.encoding.locate import families, layout, model_names
from explorer.encoding.read.pooling import DECODER_POOLINGS, GRID_POOLINGS
from tests.spoiling import configure, encoder_of
from tests.tiny_models import FAMILIES, save_tiny


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
