"""Test that a folder of Strata that cannot be read is named in one line by every command that looks into it."""

import errno
import os

import pytest

from explorer import places
from tests.trainings import recipe, words_of

NO_SUCH = "such"


@pytest.fixture(params=["a file", "no permission", "no search"])
def runs_folder(request, tmp_path, monkeypatch):
    """A folder of runs that cannot be read: for root, too."""
    folder = tmp_path / "runs"
    monkeypatch.setenv("STRATA_RUNS", str(folder))
    if request.param == "a file":
        folder.touch()
        return folder
    folder.mkdir()
    denied = PermissionError(errno.EACCES, "Permission denied", str(folder))
    call, method = (os, "scandir") if request.param == "no permission" else (places.Path, "stat")
    real = getattr(call, method)

    def refused(path, *arguments, **options):
        if str(path).startswith(str(folder)) and (method == "scandir" or str(path) != str(folder)):
            raise denied
        return real(path, *arguments, **options)

    monkeypatch.setattr(call, method, refused)
    return folder


@pytest.mark.parametrize(
    "words",
    [
        ("train",),
        ("train", "--resume", NO_SUCH),
        ("plan", NO_SUCH),
        ("export", NO_SUCH, "there"),
        ("score", f"run:{NO_SUCH}"),
    ],
    ids=" ".join,
)
def test_a_folder_of_runs_that_cannot_be_read_is_named(runs_folder, place, said, words):
    given = words_of(recipe(place)) if words == ("train",) else words
    code, out, err = said(*given)
    assert (code, out) == (1, "")
    (line,) = err.splitlines()
    assert str(runs_folder) in line
    assert "Permission denied" in line or "Not a directory" in line


def test_a_command_that_needs_no_run_does_not_mind(runs_folder, place, said):
    code, out, _ = said("score", place.model, "--sts", place.test)
    assert code == 0
    assert "on 9 pairs" in out
