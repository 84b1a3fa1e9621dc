"""Test that `shrink` prints every size that was asked for, and writes the one that is exported."""

import json

import pytest
from sentence_transformers import SentenceTransformer


@pytest.fixture
def asked(place, said):
    def ask(*words):
        return said("shrink", place.model, "--on", place.test, "--text", "sample", *words)

    return ask


def test_every_named_size_is_in_the_table(asked, place):
    code, out, err = asked(
        "--layers", "1,2", "--poolings", "mean,max", "--dimensions", "16,8", "--stored", "int8", "--json"
    )
    assert code == 0, err
    told = json.loads(out)
    whole, *points = told["points"]
    assert (whole["layer & pooling"], whole["difference"]) == ("model default", 0)
    titles = {(point["layer & pooling"], point["dimensions"], point["stored"]) for point in points}
    layers = ["mean of layer 1", "max of layer 1", "mean of layer 2", "max of layer 2"]
    assert titles == {(layer, count, "int8") for layer in layers for count in (16, 8)}
    assert all(point["sentences_per_second"] > 0 and point["vector_bytes"] == point["dimensions"] for point in points)


def test_the_exported_encoder_is_the_one_that_was_named(asked, tmp_path):
    size = ("--layers", "1", "--poolings", "cls", "--dimensions", "8", "--stored", "bits")
    code, out, err = asked(*size, "--export", tmp_path / "small", "--markdown")
    assert code == 0, err
    assert out.startswith("| model | layer & pooling |")
    model = SentenceTransformer(str(tmp_path / "small"), device="cpu")
    assert model[0].auto_model.config.num_hidden_layers == 1
    assert model.encode(["a man plays a guitar"]).shape == (1, 8)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--layers", "three"), "--layers cannot be 'three'. Choose whole numbers with commas between them"),
        (("--layers", "9"), "9 is not a possible layer. Choose 0 to 2."),
        (("--dimensions", "999"), "999 is not a possible number of dimensions. Choose 1 to 32"),
        (("--max-length", "1000"), "A maximum length of 1000 tokens is not possible"),
        (("--layers", "1", "--export", "small"), "--export writes one encoder. Give --layers"),
    ],
)
def test_what_cannot_be_is_refused(asked, words, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = asked(*words)
    assert code == 1
    assert told in err
    assert not (tmp_path / "small").exists()
