"""Test that a run which cannot be read is named where runs are listed, and no other folder is."""

import os

import pytest

from explorer.training.recipe import Recipe
from explorer.training.record import runs

RECIPE = Recipe("sg-opt", "some/Tiny model", ("a.csv",))


@pytest.fixture(autouse=True)
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


def test_runs_that_can_be_read_are_not_named():
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
