import json
import os
import re

import pytest
import torch
from safetensors.torch import save_file

from explorer.encoding.locate import layout, weights
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
    with pytest.raises(
        UnsupportedModel, match=rf"num_hidden_layers is {named}.*, which is not .* from 1 to 1000. Save"
    ):
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
