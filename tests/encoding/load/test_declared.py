"""Test that the declared layer & pooling, read from small files, is that of the loaded model."""

import shutil

import pytest
import torch
from torch.nn.functional import cosine_similarity

from explorer.encoding.export.exporting import export
from explorer.encoding.load.declared import declared, default, default_cell, described, mean_of_last, named
from explorer.encoding.load.loading import load
from explorer.encoding.locate import lookup
from explorer.encoding.locate.model_names import of_folder
from explorer.encoding.read.head import Dense, Head
from explorer.encoding.read.parts.layer_attention import LayerAttention
from explorer.encoding.read.parts.word_weights import WordWeights
from explorer.encoding.read.pooling import FIRST_LAST, GRID_POOLINGS, OWN, Reading, Row, parse
from tests.exports import tunable
from tests.spoiling import configure, declare, encoder_of, reweigh
from tests.tiny_models import LAYERS, SENTENCES, WIDTH, save_tiny

ATTENTION = LayerAttention(*(torch.eye(WIDTH) for _ in range(3)), asks="cls", answers="mean")
DENSE = Dense(torch.eye(WIDTH) * 2, torch.ones(WIDTH), "Tanh")
# a head as it is exported, and the cell of the grid that it is; a head of lower layers is told by its weights alone
HEADS = [
    (Head(("mean",)), "mean of layer 2"),
    (Head(("cls",), normalize=True), "cls of layer 2"),
    (Head(("max of layer 1",)), None),
    (Head(("cls of layers 0 + 2",)), None),
    (Head(("mean", "cls")), None),
    (Head(("mean",), (DENSE,)), None),
    (Head((FIRST_LAST,)), None),
    (Head(("cls",), layers=ATTENTION), None),
    (Head((), layers=WordWeights(0)), None),
]


@pytest.fixture(scope="module")
def tuned(tmp_path_factory):
    return tunable(encoder_of(save_tiny("bert", tmp_path_factory.mktemp("base") / "bert")))


@pytest.mark.parametrize(("head", "cell"), HEADS, ids=lambda one: one.describe() if isinstance(one, Head) else "")
def test_the_cell_is_the_one_whose_cosines_the_loaded_head_has(tuned, tmp_path, head, cell):
    folder = tmp_path / "model"
    export(tuned, head, folder, "# card", None)
    assert default(folder) == OWN
    assert default_cell(folder) == (mean_of_last(folder) if cell is None else parse(cell, LAYERS))
    encoder = load(of_folder("x", folder), precision="float32", device="cpu")
    if not head.layers and head.of_last_layer:
        last = encoder.head.describe().partition(" → ")[0]
        assert declared(folder).partition(" → ")[0] == last
    if cell is None:
        return
    (views,) = encoder.views(SENTENCES[:2])
    reading = default_cell(folder)
    of_cell = views.grid[encoder.rows.index(reading.row), GRID_POOLINGS.index(reading.pooling)]
    expected = cosine_similarity(*views.own, dim=0)
    assert cosine_similarity(*of_cell, dim=0) == pytest.approx(float(expected), abs=1e-5)


def test_the_bundled_encoder_declares_the_mean_at_length_one():
    assert declared(lookup.bundled_folder()) == "mean of the last layer → normalised"
    assert default_cell(lookup.bundled_folder()) == Reading(Row((6,)), "mean")
    assert described(OWN, lookup.bundled_folder()) == "model default (mean of the last layer → normalised)"
    assert described(parse("cls of layer 1", 6), lookup.bundled_folder()) == "cls of layer 1"


def test_a_plain_folder_has_the_mean_of_its_last_layer_for_its_default(bert):
    assert declared(bert) is None
    assert default(bert) == default_cell(bert) == parse("mean of layer 2", 2)
    assert "sentence-transformers" in described(default(bert), bert)
    assert described(parse("cls of layer 2", 2), bert) == "cls of layer 2"


@pytest.mark.parametrize("suffix", [".bin", ".safetensors"])
def test_a_save_of_simcse_declares_its_head_if_it_holds_one(bert, suffix):
    configure(bert / "config.json", architectures=["BertForCL"])
    assert default(bert) == mean_of_last(bert)
    beside = {"mlp.dense.weight": torch.eye(WIDTH), "mlp.dense.bias": torch.zeros(WIDTH)}
    reweigh(bert, lambda weights: weights | beside, suffix)
    assert default(bert) == OWN
    assert default_cell(bert) == mean_of_last(bert)
    assert encoder_of(bert).head is not None


@pytest.mark.parametrize("title", [None, "model default"])
def test_the_default_has_two_names_and_any_other_title_is_a_cell(tmp_path, title, bert):
    assert named(title, lookup.bundled_folder()) == OWN
    assert named("max of layer 1", bert) == parse("max of layer 1", 2)
    assert named(title, bert) == mean_of_last(bert)


@pytest.mark.parametrize(
    ("pooling", "words"),
    [
        ({"pooling_mode": "cls"}, "cls of the last layer"),
        ({"pooling_mode": ["mean", "max"]}, "mean + max of the last layer"),
        ({"pooling_mode_cls_token": False, "pooling_mode_max_tokens": True}, "max of the last layer"),
        ({}, "mean of the last layer"),
    ],
)
def test_settings_of_every_release_are_read(bert, tmp_path, pooling, words):
    folder = shutil.copytree(bert, tmp_path / "st")
    declare(folder, "Transformer", "Pooling", pooling=pooling)
    assert declared(folder) == words
