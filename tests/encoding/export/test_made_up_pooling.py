"""Test that a pooling is one row: a made-up one is read, computed, exported and explained by name."""

import json

import numpy as np
import pytest

from explorer.encoding.export import exporting, source_code
from explorer.encoding.load import declared
from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import of_folder
from explorer.encoding.read.head import Head
from explorer.encoding.read.pooling import FUNCTIONS, GRID_POOLINGS, POOLINGS, Pooling, is_pooling, parse
from explorer.encoding.tune.tunable import Tunable
from explorer.measuring.sentences.sentence_pair import token_pair
from explorer.measuring.sentences.sentence_vectors import of_reading
from explorer.progress import finish
from tests.tiny_models import save_tiny

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
    shares = finish(token_pair(encoder, *TEXTS, reading)).shares
    assert np.flatnonzero(shares[0]).tolist() == [len(states[0]) // 2]
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
