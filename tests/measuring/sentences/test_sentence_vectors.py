"""Test vectors: those not finite are refused, cosines are those of slow loops, and files are read back unchanged."""

import io
import math
import zipfile

import numpy as np
import pyarrow.parquet as parquet
import pytest
import torch

from explorer.encoding.read.head import Dense, Head
from explorer.encoding.read.pooling import OWN, parse
from explorer.errors import NotWeights, UnsupportedModel
from explorer.measuring.sentences.sentence_vectors import (
    as_npy,
    as_parquet,
    as_projector,
    check_finite,
    clustered,
    foremost,
    of_reading,
    similarities,
    similarity_rows,
)
from explorer.progress import finish
from tests.spoiling import encoder_of
from tests.tiny_models import WIDTH, save_tiny

TEXTS = ("no", "the dog runs", "a man plays a guitar", "a guitar")
NAN = float("nan")
SENTENCES = ("plain", "<b>tab\there</b>\nand a line", "", 'quotes "and" ünïcode 🎉')
LABELS = {"cluster": (1, 2, 3, 1)}


@pytest.fixture
def encoder(tmp_path):
    return encoder_of(save_tiny("bert", tmp_path / "tiny"))


def spoil_a_token(encoder, value=NAN):
    (number,) = encoder._tokenizer.convert_tokens_to_ids(["guitar"])
    encoder.model.embeddings.word_embeddings.weight[number] = value


def check(encoder, reading):
    check_finite(encoder, TEXTS, reading, finish(of_reading(encoder, TEXTS, reading)))


@pytest.mark.parametrize("title", ["mean of layer 0", "cls of layers 0 + 2", "last of layer 1"])
def test_a_token_with_nan_names_the_embedding_layer_the_sentence_and_a_true_step(encoder, title):
    spoil_a_token(encoder)
    words = rf"gives 2 of 4 sentences vectors with NaN or infinite numbers under {title.replace('+', '.')}, such as "
    words += r"'a man plays a guitar'\. They come from its embedding layer, whose weights are damaged: copy or download"
    with pytest.raises(NotWeights, match=words):
        check(encoder, parse(title, 2))


def test_a_layer_or_module_whose_numbers_are_not_finite_is_named_and_those_below_are_not_refused(encoder):
    large = torch.full((WIDTH, WIDTH), 3e38)
    encoder.head = Head(("mean",), (Dense(torch.eye(WIDTH), None, "Tanh"), Dense(large.triu(), None, "Identity")))
    check(encoder, parse("mean of layer 2", 2))
    words = r"come from its Dense 32, after mean of the last layer → Dense 32 \(tanh\)\. Choose another layer & pooling"
    with pytest.raises(UnsupportedModel, match=words):
        check(encoder, OWN)
    encoder.model.encoder.layer[1].output.dense.weight[3] = NAN
    check(encoder, parse("mean of layer 1", 2))
    with pytest.raises(NotWeights, match=r"4 of 4 sentences .* They come from its layer 2, whose weights are damaged"):
        check(encoder, parse("mean of layer 2", 2))


def test_in_bfloat16_without_nan_in_the_weights_the_next_step_is_float32(tmp_path):
    encoder = encoder_of(save_tiny("bert", tmp_path / "tiny"), precision="bfloat16")
    encoder.head = Head(("mean",), (Dense(torch.full((WIDTH, WIDTH), 3e38).triu(), None, "Identity"),))
    with pytest.raises(UnsupportedModel, match=r"Switch precision to float32"):
        check(encoder, OWN)


def test_finite_vectors_pass_and_what_does_not_happen_again_is_said(encoder):
    check(encoder, parse("mean of layer 2", 2))
    once = np.where(np.arange(4)[:, None] == 1, np.inf, np.ones((4, WIDTH)))
    with pytest.raises(UnsupportedModel, match=r"'the dog runs'\. Encoded alone, it is finite: start again"):
        check_finite(encoder, TEXTS, parse("mean of layer 2", 2), once)


def slow_cosine(one, other):
    lengths = math.sqrt(sum(a * a for a in one)) * math.sqrt(sum(b * b for b in other))
    return sum(a * b for a, b in zip(one, other, strict=True)) / lengths


@pytest.fixture
def vectors():
    return np.random.default_rng(0).normal(size=(6, 5)).astype(np.float32)


def test_cosines_are_those_of_the_slow_loop_and_missing_without_a_length(vectors):
    found = similarities(vectors)
    for i, one in enumerate(vectors.tolist()):
        for j, other in enumerate(vectors.tolist()):
            assert found[i, j] == pytest.approx(slow_cosine(one, other))
    vectors[2] = 0
    found = similarities(vectors)
    assert np.isnan(found[2]).all()
    assert np.isnan(found[:, 2]).all()
    assert np.isfinite(np.delete(np.delete(found, 2, 0), 2, 1)).all()
    rows = similarity_rows(tuple("abcdef"), found, None)
    assert {row["cosine A"] for row in rows if 3 in (row["number"], row["other number"])} == {None}


def test_clusters_stand_together_however_they_were_typed_and_sentences_without_cosines_too():
    chance = np.random.default_rng(1)
    middles = np.eye(3, 8)
    groups = np.array([0, 1, 2] * 4)
    vectors = middles[groups] + 0.05 * chance.normal(size=(12, 8))
    order = clustered(similarities(vectors))
    assert sorted(order) == list(range(12))
    assert np.count_nonzero(np.diff(groups[order])) == 2, "each group in one piece"
    vectors[[0, 3]] = 0
    assert sorted(clustered(similarities(vectors))) == list(range(12))


@pytest.mark.parametrize("count", [1, 2, 3, 200])
def test_an_order_of_the_same_sentence_many_times_has_each_once(count):
    assert sorted(clustered(similarities(np.ones((count, 4))))) == list(range(count))


def test_the_foremost_pairs_are_those_that_changed_most_either_way(vectors):
    one = similarities(vectors)
    other = similarities(vectors[::-1].copy())
    changes = {(i, j): abs(other[i, j] - one[i, j]) for i in range(6) for j in range(i + 1, 6)}
    assert foremost(one, other, 4) == sorted(changes, key=lambda pair: -changes[pair])[:4]
    (alike,) = foremost(one, None, 1)
    assert one[alike] == max(one[i, j] for i in range(6) for j in range(i + 1, 6))
    assert foremost(similarities(np.eye(2, 3)), None, 5) == [(0, 1)]


def test_rows_hold_every_two_sentences_once(vectors):
    one = similarities(vectors)
    rows = similarity_rows(tuple("abcdef"), one, -one)
    assert len(rows) == 15
    for row in rows:
        i, j = row["number"] - 1, row["other number"] - 1
        assert (row["sentence"], row["other sentence"]) == ("abcdef"[i], "abcdef"[j])
        assert row["B - A"] == pytest.approx(-2 * one[i, j], abs=2e-6)


@pytest.fixture
def exported():
    return np.random.default_rng(0).normal(size=(4, 5)).astype(np.float32)


def test_exported_vectors_hold_the_same_numbers_texts_and_labels_also_missing_ones(exported):
    assert np.array_equal(np.load(io.BytesIO(as_npy(exported))), exported)
    table = parquet.read_table(io.BytesIO(as_parquet(SENTENCES, exported, LABELS)))
    assert table.column_names == ["sentence", "cluster", "vector"]
    assert table["sentence"].to_pylist() == list(SENTENCES)
    assert table["cluster"].to_pylist() == [1, 2, 3, 1]
    assert np.array_equal(np.array(table["vector"].to_pylist(), dtype=np.float32), exported)
    missing = {"weight": (None, 1.5, None, 2.0), "topic": ("news", None, "x", "y")}
    table = parquet.read_table(io.BytesIO(as_parquet(SENTENCES, exported, missing)))
    assert table["weight"].to_pylist() == list(missing["weight"])
    assert lines(as_projector(SENTENCES, exported, missing), "metadata.tsv")[1] == "plain\t-\tnews"


def lines(data, name):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.namelist() == ["vectors.tsv", "metadata.tsv"]
        return archive.read(name).decode().split("\n")[:-1]


def test_the_projector_gets_a_line_for_each_sentence_and_a_header_for_several_columns(exported):
    data = as_projector(SENTENCES, exported)
    numbers = [[float(cell) for cell in line.split("\t")] for line in lines(data, "vectors.tsv")]
    assert np.array_equal(np.array(numbers, dtype=np.float32), exported)
    assert lines(data, "metadata.tsv") == ["plain", "<b>tab here</b> and a line", "-", 'quotes "and" ünïcode 🎉']
    assert lines(as_projector(SENTENCES, exported, LABELS), "metadata.tsv")[:2] == ["sentence\tcluster", "plain\t1"]
    assert as_projector(SENTENCES, exported) == as_projector(SENTENCES, exported)
