"""Test that poolings and ranges of layers are those of sentence-transformers, and their exports too."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer import modules as theirs
from torch import Tensor

from explorer.encoding.export import exporting, source_code
from explorer.encoding.export.exporting import export
from explorer.encoding.load import declared
from explorer.encoding.load.declared import default_cell
from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import of_folder
from explorer.encoding.read.encoder import Encoder
from explorer.encoding.read.head import Head
from explorer.encoding.read.pooling import FUNCTIONS, GRID_POOLINGS, POOLINGS, Pooling, Reading, Row, is_pooling, parse
from explorer.encoding.tune.tunable import Tunable
from explorer.measuring.sentences.sentence_pair import token_pair
from explorer.measuring.sentences.sentence_vectors import of_reading
from explorer.progress import finish
from tests.exports import as_trained, assert_close, by_sentence_transformers, by_strata, tunable
from tests.spoiling import configure, encoder_of
from tests.tiny_models import LAYERS, SENTENCES, WIDTH, save_tiny

DECODERS = ("gpt2", "llama", "qwen2")
SIDES = ("left", "right")
MODES = {name: pooling.library for name, pooling in POOLINGS.items()}
ASKED = [
    Reading(Row(layers), pooling)
    for layers in ((LAYERS,), (1,), (0, LAYERS), tuple(range(LAYERS + 1)))
    for pooling in ("last", "weighted mean", "sqrt mean", "mean")
]
HEADS = [
    Head(("last",), normalize=True),
    Head(("weighted mean",)),
    Head(("sqrt mean",)),
    Head(("last of layer 1",)),
    Head(("weighted mean of layers 0 + 2",), normalize=True),
    Head(("mean of layers 0-2",)),
    Head(("max of layers 0-2",)),
    Head(("last of layers 0-2",)),
]


def padded_on(side: str, folder: Path) -> Path:
    """A folder whose tokenizer states a padding token and a side."""
    configure(folder / "tokenizer_config.json", padding_side=side, pad_token="<|endoftext|>")
    return folder


@pytest.fixture(scope="module", params=DECODERS)
def bases(request, tmp_path_factory) -> dict[str, Path]:
    """One decoder, saved with each padding side."""
    place = tmp_path_factory.mktemp("bases")
    return {side: padded_on(side, save_tiny(request.param, place / side / request.param)) for side in SIDES}


def library(folder: Path, reading: Reading) -> SentenceTransformer:
    """The layer & pooling in modules of sentence-transformers alone."""
    transformer = theirs.Transformer(str(folder), config_kwargs={"output_hidden_states": True})
    shares = torch.zeros(LAYERS + 1)
    shares[list(reading.row.layers)] = 1.0
    blend = theirs.WeightedLayerPooling(WIDTH, num_hidden_layers=LAYERS, layer_start=0, layer_weights=shares)
    return SentenceTransformer(
        modules=[transformer, blend, theirs.Pooling(WIDTH, MODES[reading.pooling])], device="cpu"
    )


def vectors(encoder: Encoder, reading: Reading) -> Tensor:
    return torch.from_numpy(finish(of_reading(encoder, SENTENCES, reading)))


@pytest.mark.parametrize("side", SIDES)
def test_every_pooling_and_range_is_that_of_sentence_transformers(bases, side):
    encoder = encoder_of(bases[side])
    # GPT-2 counts positions from the padding, so only a sentence by itself has its own positions on the left
    company = 1 if side == "left" and "gpt2" in str(bases[side]) else len(SENTENCES)
    for reading in ASKED:
        expected = library(bases[side], reading).encode(list(SENTENCES), batch_size=company, convert_to_tensor=True)
        assert_close(vectors(encoder, reading), expected)


def test_the_padding_side_of_a_folder_changes_no_vector(bases):
    left, right = (encoder_of(bases[side]) for side in SIDES)
    for reading in ASKED:
        assert torch.equal(vectors(left, reading), vectors(right, reading)), reading.title


def test_a_range_is_the_average_of_its_layers_except_under_max(bases):
    encoder = encoder_of(bases["right"])
    for pooling in MODES:
        each = torch.stack([vectors(encoder, Reading(Row((layer,)), pooling)) for layer in range(LAYERS + 1)]).mean(0)
        found = vectors(encoder, parse(f"{pooling} of layers 0-{LAYERS}", LAYERS))
        assert torch.allclose(found, each, atol=1e-6) == (pooling != "max")


@pytest.mark.parametrize("head", HEADS, ids=lambda head: head.describe())
def test_an_export_of_a_left_padded_model_pads_on_the_right_and_is_read_alike_by_both_libraries(bases, tmp_path, head):
    tuned = tunable(encoder_of(bases["left"]))
    export(tuned, head, tmp_path / "run", "# card", bases["left"])
    expected = as_trained(tuned, head)
    kinds = [line["type"].rpartition(".")[2] for line in json.loads((tmp_path / "run" / "modules.json").read_text())]
    between = [] if head.of_last_layer else ["WeightedLayerPooling"]
    assert kinds == ["Transformer", *between, "Pooling", *["Normalize"] * head.normalize]
    assert encoder_of(tmp_path / "run").head == head
    assert json.loads((tmp_path / "run" / "tokenizer_config.json").read_text())["padding_side"] == "right"
    assert_close(by_strata(tmp_path / "run"), expected)
    assert_close(by_sentence_transformers(tmp_path / "run"), expected)


@pytest.mark.parametrize("head", HEADS, ids=lambda head: head.describe())
def test_the_lines_of_the_model_card_give_the_same_vectors(bert, tmp_path, head):
    tuned = tunable(encoder_of(bert))
    export(tuned, head, tmp_path / "run", "# card", bert)
    code = source_code.transformers(head, "AutoModel")
    names: dict[str, Tensor] = {}
    exec(code.replace(source_code.FOLDER, str(tmp_path / "run")), names)
    assert_close(names["vectors"], as_trained(tuned, head, tuple(names["sentences"])))


def test_a_declared_last_token_is_a_layer_and_pooling_of_every_model(bert, tmp_path):
    export(tunable(encoder_of(bert)), Head(("last",)), tmp_path / "run", "# card", None)
    assert default_cell(tmp_path / "run").title == "last of layer 2"


TEXTS = ["a dog is here", "nobody came"]


def middle(states, mask):
    """The token in the middle."""
    lengths = [states.shape[1]] * len(states) if mask is None else mask.sum(1).tolist()
    return states[range(len(states)), [int(length) // 2 for length in lengths]].float()


def one_token(states):
    """All of every dimension is the middle token's."""
    shares = np.zeros(states.shape)
    shares[len(states) // 2] = 1
    return shares


@pytest.fixture(autouse=True)
def row(monkeypatch):
    monkeypatch.setitem(FUNCTIONS, "middle", middle)
    monkeypatch.setitem(POOLINGS, "middle", Pooling("middle", "middletoken", "states[:, 1]", shares=one_token))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_tiny("bert", tmp_path_factory.mktemp("model") / "bert")


def test_it_is_computed_if_it_is_named_and_in_the_microscope(folder):
    encoder = load(of_folder("tiny", folder), "float32", "cpu")
    reading = parse("middle of layer 2", 2)
    vectors = finish(of_reading(encoder, TEXTS, reading))
    states = [encoder.states([text]).hidden[2, 0].numpy() for text in TEXTS]
    assert vectors == pytest.approx(np.stack([one[len(one) // 2] for one in states]), abs=1e-5)
    assert np.flatnonzero(finish(token_pair(encoder, *TEXTS, reading)).shares[0]).tolist() == [len(states[0]) // 2]
    assert "middle" not in GRID_POOLINGS
    assert is_pooling("middle of layer 1")


def test_it_is_exported_under_the_librarys_name_read_again_and_in_the_code_of_the_card(folder, tmp_path):
    encoder = load(of_folder("tiny", folder), "float32", "cpu")
    exporting.export(Tunable(encoder, encoder.max_length), Head(("middle",)), tmp_path / "out", "", folder)
    stated = json.loads((tmp_path / "out" / "1_Pooling" / "config.json").read_text())
    assert stated["pooling_mode"] in ("middletoken", ["middletoken"])
    assert declared.declared(tmp_path / "out").words == "middle of the last layer"
    again = load(of_folder("out", tmp_path / "out"), "float32", "cpu")
    assert again.head.poolings == ("middle",)
    assert "states[:, 1]" in source_code.transformers(again.head, "AutoModel")
