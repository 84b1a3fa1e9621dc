"""Test that a run with damaged files is read as far as it can be, and named if it cannot be read."""

import os
import shutil

import numpy as np
import pytest

from explorer import run_folder
from explorer.places import examples_folder
from explorer.run_folder import PROBE, PROBE_SENTENCES, STATUS, probe_file
from explorer.training.recipe import Recipe
from explorer.training.record import recorder, runs
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


RECIPE = Recipe("sg-opt", "some/Tiny model", ("a.csv",))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_RUNS", str(tmp_path / "runs"))
    for name in ("one", "two"):
        runs.new(RECIPE, name)
    for other in ("plans", "mine", ".123-4.part"):
        (tmp_path / "runs" / other).mkdir()
    (tmp_path / "runs" / "notes.txt").touch()
    return tmp_path / "runs"


def closed(path, monkeypatch) -> None:
    """Deny everybody the file, also root."""
    real = type(path).open

    def refused(self, *arguments, **options):
        if self == path:
            raise PermissionError(13, "Permission denied", str(path))
        return real(self, *arguments, **options)

    monkeypatch.setattr(type(path), "open", refused)


def test_runs_that_can_be_read_are_not_named(folder):
    assert runs.unreadable() == []


def test_a_folder_that_no_page_can_show_is_not_named(folder):
    damaged = folder / os.fsdecode(b"bad\xff")
    damaged.mkdir()
    (damaged / "status.json").write_text("{")
    assert runs.unreadable() == []


def test_there_may_be_no_folder_of_runs_yet(tmp_path):
    assert runs.unreadable(tmp_path / "none") == []


@pytest.mark.parametrize("name", ["recipe.yaml", "status.json"])
def test_a_run_with_a_file_that_cannot_be_read_is_named(folder, monkeypatch, name):
    closed(folder / "two" / name, monkeypatch)
    (line,) = runs.unreadable()
    assert line == f"'two' cannot be read: {folder}/two/{name}: Permission denied. Check its permissions."


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff"])
def test_a_run_whose_status_is_damaged_is_named(folder, content):
    (folder / "one" / "status.json").write_bytes(content)
    (line,) = runs.unreadable()
    assert line == "'one' has a damaged status: it counts as interrupted. Restore its file, or resume it."
