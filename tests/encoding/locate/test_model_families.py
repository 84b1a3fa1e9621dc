"""Test that the family of an encoder is read from its config, and that nothing else is taken for one."""

import json

import pytest
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from explorer.encoding.locate import families, layout, model_names


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
