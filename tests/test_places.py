"""Test that what Strata writes has the usual permissions and is whole, and which paths of a user are refused."""

import os
import stat
from pathlib import Path

import pytest

from explorer import places
from explorer.errors import BadChoice, NotWritable
from explorer.places import given_path, whole_file, write_whole


@pytest.fixture(params=[0o022, 0o002, 0o077], ids=oct)
def umask(request):
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_file_gets_the_mode_of_any_other_new_file(tmp_path, umask):
    (tmp_path / "other").write_bytes(b"1")
    for _ in range(2):  # also one that replaces another
        write_whole(tmp_path / "a" / "mine", lambda file: file.write(b"1"))
        assert mode(tmp_path / "a" / "mine") == mode(tmp_path / "other") == 0o666 & ~umask


def test_what_fails_half_way_leaves_the_file_that_was_there_and_no_other(tmp_path):
    (tmp_path / "mine").write_bytes(b"before")
    with pytest.raises(ZeroDivisionError), whole_file(tmp_path / "mine") as file:
        file.write(bytes(1 // 0))
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"before"]


def test_a_file_in_place_of_the_folder_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(NotWritable, match=f"^{tmp_path}/file cannot be written to: File exists.* Make room"):
        write_whole(tmp_path / "file" / "mine", lambda file: file.write(b"1"))


def test_a_home_folder_is_filled_in_and_what_is_not_there_may_come(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert given_path("~/a/b.txt") == tmp_path / "a" / "b.txt"
    assert given_path(Path("~")) == tmp_path
    (tmp_path / "file").touch()
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    for there in (tmp_path / "file", tmp_path / "file" / "below", tmp_path / "gone", Path("a/../~nosuch")):
        assert given_path(str(there)) == there


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("~nosuch", "there is no user with this home folder"),
        ("~nosuch/x", "there is no user with this home folder"),
        ("x" * 300, "File name too long"),
        ("x/" * 3000, "File name too long"),
        ("a\0b", "it has a character that no path has"),
        ("a\udcff", "it is not UTF-8"),
        ("a/\udcff/b", "it is not UTF-8"),
        ("\ud800", "it is not UTF-8"),
    ],
)
def test_a_path_that_can_never_be_looked_up_is_refused(written, reason):
    with pytest.raises(BadChoice, match=f"cannot be looked up: {reason}.*Write another path"):
        given_path(written)


def test_a_path_in_a_circle_of_links_is_refused(tmp_path):
    (tmp_path / "one").symlink_to(tmp_path / "other")
    (tmp_path / "other").symlink_to(tmp_path / "one")
    with pytest.raises(BadChoice, match="symbolic links"):
        given_path(tmp_path / "one")


@pytest.mark.parametrize(
    ("variable", "folder"),
    [
        ("STRATA_CACHE", places.cache_folder),
        ("XDG_CACHE_HOME", places.cache_folder),
        ("STRATA_RUNS", places.runs_folder),
        ("STRATA_RESULTS", places.results_folder),
    ],
)
def test_a_folder_that_a_variable_names_is_such_a_path(variable, folder, monkeypatch):
    monkeypatch.delenv("STRATA_CACHE", raising=False)
    monkeypatch.setenv(variable, "~nosuch/x")
    with pytest.raises(BadChoice, match=r"'~nosuch/x.* cannot be looked up"):
        folder()
