"""Test that every page says in one line that a folder of Strata, or a run in it, cannot be read."""

import pytest

from explorer.training.record import runs
from tests import trainings

LINE = "{} cannot be read: Not a directory. Check its permissions, or set {} to another folder."


def lines(elements) -> list[str]:
    """The texts, without the marks that keep them from being markup."""
    return [element.value.replace("\\", "") for element in elements]


@pytest.mark.parametrize("page", ["train", "layers"])
def test_a_folder_of_runs_that_is_a_file_is_named_and_nothing_fails(furnished, tmp_path, monkeypatch, page):
    (tmp_path / "file").touch()
    monkeypatch.setenv("STRATA_RUNS", str(tmp_path / "file"))
    for _ in range(2):
        furnished.switch_page(f"pages/{page}.py").run()
        assert not furnished.exception
        assert lines(furnished.error) == [LINE.format(tmp_path / "file", "STRATA_RUNS")]


def test_without_a_cache_a_page_says_so_and_works(furnished, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path / "file"))
    furnished.switch_page("pages/train.py").run()
    assert not furnished.exception
    assert not furnished.error
    assert LINE.format(tmp_path / "file", "STRATA_CACHE") in lines(furnished.warning)


def test_an_error_of_the_system_is_one_line_without_a_traceback(furnished, monkeypatch):
    def listed(*_):
        raise PermissionError(13, "Permission denied", "/some/file")

    monkeypatch.setattr("explorer.ui.frame.sidebar.encoders", listed)
    furnished.run()
    assert not furnished.exception
    (error,) = lines(furnished.error)
    assert error.startswith("/some/file cannot be used: Permission denied. Check")


def test_a_run_that_cannot_be_read_is_named_above_the_list_of_runs(furnished, place, tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_RUNS", str(tmp_path))
    for name in ("whole", "damaged"):
        runs.new(trainings.recipe(place), name)
    (tmp_path / "damaged" / "status.json").write_text("{")
    furnished.switch_page("pages/train.py").run()
    assert [line for line in lines(furnished.warning) if line.startswith("'damaged' has a damaged status")]
    assert not [line for line in lines(furnished.warning) if "'whole'" in line]


def test_a_folder_of_results_that_is_a_file_is_named(furnished, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("STRATA_RESULTS", str(tmp_path / "file"))
    furnished.switch_page("pages/results.py").run()
    assert not furnished.exception
    assert LINE.format(tmp_path / "file", "STRATA_RESULTS") in lines(furnished.error)
