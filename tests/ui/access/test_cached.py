"""Test that a page reads a source again once a file is another one, and keeps each measurement with its sentences."""

import json
import os
import shutil

import numpy as np
import pytest
from huggingface_hub import constants

from explorer.data.graded import question_pairs, sts
from explorer.data.labelled import labelled_sets
from explorer.data.labelled.labelled_sets import PublishedSet, Split
from explorer.data.sources import QUORA, identity
from explorer.data.vectors import opening
from explorer.encoding.locate.model_names import Found
from explorer.encoding.read import sentence_pairs
from explorer.measuring.scores.measure import Settings
from explorer.ui.access import cached_texts, loaded_encoders
from explorer.ui.layer_attention import pair_view, pooler_view


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The folder of published sets, without a hub."""
    monkeypatch.setenv(sts.VARIABLE, str(tmp_path / "sets"))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "sets"


def replaced(path, old, new):
    """Other text of one length in a file's place, with the times that `cp -p` keeps."""
    other, times = path.with_name("other"), path.stat()
    other.write_bytes(path.read_bytes().replace(old, new))
    os.utime(other, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert other.stat().st_size == times.st_size
    other.replace(path)


@pytest.mark.parametrize("by_path", [True, False])
def test_queries_and_judgements_inside_of_a_folder_are_read_again(tmp_path, monkeypatch, by_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    home = tmp_path / "owls"
    (home / "qrels").mkdir(parents=True)
    for name, key in (("corpus", "d"), ("queries", "q")):
        lines = (json.dumps({"_id": f"{key}{at}", "text": f"{name} {at}"}) for at in range(3))
        (home / f"{name}.jsonl").write_text("\n".join(lines))
    (home / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq0\td0\t1\n")
    name = str(home) if by_path else "~/owls"
    assert cached_texts.evaluated_on(identity(name), True).judgements == ({0: 1},)
    replaced(home / "qrels" / "test.tsv", b"d0", b"d2")
    assert cached_texts.evaluated_on(identity(name), True).judgements == ({2: 1},)
    assert cached_texts.evaluated_on(identity(name), True).queries == ("queries 0",)
    replaced(home / "queries.jsonl", b"queries 0", b"questions")
    assert cached_texts.evaluated_on(identity(name), True).queries == ("questions",)


def test_a_published_labelled_set_is_read_again(folder, monkeypatch):
    known = PublishedSet("MR", (Split("all", "MR/all.tsv", 100, (50, 50)),), columns=labelled_sets.TEXTS)
    monkeypatch.setattr(labelled_sets, "EVERY", (known,))
    (folder / "MR").mkdir(parents=True)
    rows = (f"{at % 2}\ttext {at}" for at in range(100))
    (folder / "MR" / "all.tsv").write_text("\n".join(["label\ttext", *rows]) + "\n")
    assert cached_texts.evaluated_on(identity("MR")).train.texts[7] == "text 7"
    replaced(folder / "MR" / "all.tsv", b"text 7\n", b"word 7\n")
    assert cached_texts.evaluated_on(identity("MR")).train.texts[7] == "word 7"


def test_question_pairs_are_read_again(folder):
    file = folder / question_pairs.FILE
    file.parent.mkdir(parents=True)
    file.write_text("label\tsentence1\tsentence2\n1\tWho?\tWhom?\n0\tWhy?\tHow so?\n")
    assert cached_texts.evaluated_on(identity(QUORA), True).queries == ("Who?",)
    replaced(file, b"Who?", b"Hm??")
    assert cached_texts.evaluated_on(identity(QUORA), True).queries == ("Hm??",)


@pytest.mark.parametrize("name", ["STS-B", "STS-B dev", "stsb test", "MRPC", "GLUE RTE", QUORA])
def test_a_stamp_changes_with_each_file_of_a_set(folder, name):
    every = {"STS": "STSB/train.tsv STSB/dev.tsv STSB/test.tsv", "MRP": "MRPC/train.tsv MRPC/test.tsv"}
    every |= {"GLU": "GLUE/RTE/train.tsv GLUE/RTE/dev.tsv", "QUO": question_pairs.FILE}
    stamps = [cached_texts.stamp(identity(name))]
    for file in every[name[:3].upper()].split():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text("a")
        stamps.append(cached_texts.stamp(identity(name)))
        replaced(folder / file, b"a", b"b")
        stamps.append(cached_texts.stamp(identity(name)))
    shutil.rmtree(folder)
    assert len(set(stamps)) == len(stamps)
    assert cached_texts.stamp(identity(name)) == stamps[0]


def test_a_stamp_changes_with_the_version_of_a_set_that_the_hub_had(tmp_path):
    reference = tmp_path / "hub" / "datasets--mteb--sts16-sts" / "refs" / "main"
    before = cached_texts.stamp(identity("STS16 test"))
    reference.parent.mkdir(parents=True)
    reference.write_text("0" * 40)
    fetched = cached_texts.stamp(identity("STS16 test"))
    replaced(reference, b"0", b"1")
    assert len({before, fetched, cached_texts.stamp(identity("STS16 test"))}) == 3


@pytest.mark.parametrize("name", ["sample", "Sample pairs", "", "no such file.csv", "a\0b", "~nobody/x", "x" * 5000])
def test_what_has_no_file_has_an_empty_stamp(name):
    assert cached_texts.stamp(identity(name)) == ()


def test_vectors_with_the_name_size_and_time_of_others_are_others(tmp_path):
    path = tmp_path / "mine.npy"
    np.save(path, np.ones((3, 2)))
    before, first = path.stat(), opening.stamps(str(path))
    np.save(path, np.eye(3, 2))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    second = opening.stamps(str(path))
    np.save(tmp_path / "other.npy", np.eye(3, 2))
    os.utime(tmp_path / "other.npy", ns=(before.st_atime_ns, before.st_mtime_ns))
    path.unlink()
    path.symlink_to(tmp_path / "other.npy")
    assert len({first, second, opening.stamps(str(path))}) == 3
    assert opening.stamps(str(path)) == opening.stamps(str(path))


FOUND, SETTINGS = Found("tiny", None, "a digest of this test"), Settings("float32", "cpu")
# Streamlit joins the texts of a key, each after its type and name, so that a text can move across a border
PAIRS = [("x", "ystr:secondstr:z"), ("xstr:secondstr:y", "z"), ("xstr:y", "z"), ("x", "ystr:z")]
PAIRS += [("", "xstr:"), ("\ud800", "")]


@pytest.fixture(autouse=True)
def measured(monkeypatch):
    """In place of each measurement, the sentences that it is of."""
    for name in ("encoder", "attending"):
        monkeypatch.setattr(loaded_encoders, name, lambda *_: None)
    monkeypatch.setattr(pooler_view.attention_weights, "layer_weights", lambda _, sentences, most: tuple(sentences))
    monkeypatch.setattr(pair_view.sentence_pair, "pair_layers", lambda _, first, second, most: (first, second))
    monkeypatch.setattr(sentence_pairs, "self_attention", lambda _, first, second, way: (first, second))


@pytest.mark.parametrize(
    "measure",
    [
        lambda pair: pooler_view.layer_weights(FOUND, pair, SETTINGS),
        lambda pair: pair_view.pair_layers(FOUND, *pair, SETTINGS),
        lambda pair: pair_view.self_attention(FOUND, *pair, "one input"),
    ],
)
def test_no_sentences_have_the_measurement_of_others(measure):
    assert [measure(pair) for pair in PAIRS] == PAIRS
