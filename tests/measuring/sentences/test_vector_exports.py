"""Test that exported vectors are read back unchanged by common libraries."""

import io
import zipfile

import numpy as np
import pyarrow.parquet as parquet
import pytest

from explorer.measuring.sentences.vector_exports import as_npy, as_parquet, as_projector

SENTENCES = ("plain", "<b>tab\there</b>\nand a line", "", 'quotes "and" ünïcode 🎉')
LABELS = {"cluster": (1, 2, 3, 1)}


@pytest.fixture
def vectors():
    return np.random.default_rng(0).normal(size=(4, 5)).astype(np.float32)


def test_numpy_reads_the_same_numbers(vectors):
    assert np.array_equal(np.load(io.BytesIO(as_npy(vectors))), vectors)


def test_parquet_holds_texts_as_they_are_labels_and_vectors(vectors):
    table = parquet.read_table(io.BytesIO(as_parquet(SENTENCES, vectors, LABELS)))
    assert table.column_names == ["sentence", "cluster", "vector"]
    assert table["sentence"].to_pylist() == list(SENTENCES)
    assert table["cluster"].to_pylist() == [1, 2, 3, 1]
    assert np.array_equal(np.array(table["vector"].to_pylist(), dtype=np.float32), vectors)


def lines(data, name):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.namelist() == ["vectors.tsv", "metadata.tsv"]
        return archive.read(name).decode().split("\n")[:-1]


def test_the_projector_gets_a_line_for_each_sentence_and_no_header_for_one_column(vectors):
    data = as_projector(SENTENCES, vectors)
    numbers = [[float(cell) for cell in line.split("\t")] for line in lines(data, "vectors.tsv")]
    assert np.array_equal(np.array(numbers, dtype=np.float32), vectors)
    texts = ["plain", "<b>tab here</b> and a line", "-", 'quotes "and" ünïcode 🎉']
    assert lines(data, "metadata.tsv") == texts


def test_several_columns_have_a_header(vectors):
    assert lines(as_projector(SENTENCES, vectors, LABELS), "metadata.tsv")[:2] == ["sentence\tcluster", "plain\t1"]


def test_the_same_vectors_are_the_same_file(vectors):
    assert as_projector(SENTENCES, vectors) == as_projector(SENTENCES, vectors)


def test_a_label_that_is_missing_is_empty_in_parquet_and_a_dash_for_the_projector(vectors):
    missing = {"weight": (None, 1.5, None, 2.0), "topic": ("news", None, "x", "y")}
    table = parquet.read_table(io.BytesIO(as_parquet(SENTENCES, vectors, missing)))
    assert table["weight"].to_pylist() == list(missing["weight"])
    assert lines(as_projector(SENTENCES, vectors, missing), "metadata.tsv")[1] == "plain\t-\tnews"
