"""Test that the family of an encoder is read from its config, and that nothing else is taken for one."""

import json

import pytest

from explorer.encoding.locate import families


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
    assert families.of_folder(model) == families.of_model(str(model)) == family


def test_a_model_that_is_not_here_has_none(tmp_path):
    assert families.of_model(str(tmp_path / "nowhere")) == ""
