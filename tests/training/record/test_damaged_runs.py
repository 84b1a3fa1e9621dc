"""Test that a run with damaged files is read as far as it can be."""

import shutil

import numpy as np
import pytest

from explorer import run_folder
from explorer.places import examples_folder
from explorer.run_folder import PROBE, PROBE_SENTENCES, STATUS, probe_file
from explorer.training.record import recorder
from explorer.training.record.runs import Run

DEEP = "[" * 50_000 + "]" * 50_000
LONG, LONGER = ('{"state": "finished", "loss": 1, "rate": 1, "beat": ' + "9" * digits + "}" for digits in (400, 5000))


@pytest.fixture
def run(tmp_path) -> Run:
    return Run(shutil.copytree(examples_folder() / "example", tmp_path / "run"))


@pytest.mark.parametrize("text", [DEEP, LONG, LONGER])
def test_a_status_nested_too_deep_or_with_a_number_too_long_is_that_of_a_run_broken_off(run, text):
    (run.folder / STATUS).write_text(text)
    assert run.status().state == "interrupted"


@pytest.mark.parametrize("text", [DEEP, LONG, LONGER])
def test_a_line_nested_too_deep_or_with_a_number_too_long_is_left_out(text):
    assert run_folder.metric_line(text) is None


@pytest.mark.parametrize("text", [DEEP, '["a", null]', "[[]]", "3", '{"a": "b"}', "["])
def test_probe_sentences_that_are_no_texts_are_none(run, text):
    assert recorder.probe_sentences(run)
    (run.folder / PROBE / PROBE_SENTENCES).write_text(text)
    assert recorder.probe_sentences(run) == []


@pytest.mark.parametrize(
    ("old", "new"), [(b"'shape': (", b"'shape': ((("), (b"}", b"(\n"), (b"'<f2'", b"'<f"), (b"NUMPY", b"NUMBY")]
)
def test_vectors_with_a_damaged_header_are_none(run, old, new):
    path = probe_file(run.folder, 1, 0)
    np.save(path, np.zeros((2, 3), dtype="float16"))
    assert recorder.probe(run, 1, 0) is not None
    path.write_bytes(path.read_bytes().replace(old, new))
    assert recorder.probe(run, 1, 0) is None


def test_vectors_that_would_not_fit_into_memory_are_none(run):
    path = probe_file(run.folder, 1, 0)
    np.save(path, np.zeros((2, 3), dtype="float16"))
    path.write_bytes(path.read_bytes().replace(b"(2, 3), }" + b" " * 11, b"(9999999999999,3), }"))
    assert recorder.probe(run, 1, 0) is None
