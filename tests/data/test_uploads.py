"""Test that the path of an uploaded file always gives what was uploaded."""

import os
from pathlib import Path

import pytest

from explorer.data import sources, uploads
from explorer.data.tables.files import read_file
from explorer.errors import SetNotFound, UnreadableFile

LINES = b"a man plays a guitar\nthe dog runs\n"


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path))


def test_files_whose_digests_begin_alike_are_kept_side_by_side():
    one, other = b"one line 39846\n", b"one line 63895\n"  # the SHA-256 of both begins with df9b954f
    paths = [uploads.keep("mine.txt", data) for data in (one, other, other, one)]
    assert paths[0] == paths[3] != paths[1] == paths[2]
    assert [Path(path).read_bytes() for path in paths[:2]] == [one, other]
    assert uploads.paths() == sorted(paths[:2])
    assert {uploads.name_of(path) for path in paths} == {"mine.txt"}
    assert len({sources.label(path) for path in paths}) == len({uploads.name_and_mark(path) for path in paths}) == 2


def test_a_file_that_was_edited_is_not_taken_for_what_was_uploaded():
    path = uploads.keep("mine.txt", LINES)
    assert read_file(path).name == "mine.txt"
    Path(path).write_bytes(LINES.upper())
    with pytest.raises(UnreadableFile, match=r"mine\.txt was changed after the upload\. Upload it again"):
        read_file(path)
    assert uploads.keep("mine.txt", LINES) == path
    assert len(read_file(path).rows) == 2, "uploaded again"


def test_a_file_whose_name_is_not_utf8_which_no_page_can_show_is_not_offered():
    kept = uploads.keep("mine.txt", b"one\ntwo\n")
    Path(kept).with_name(os.fsdecode(b"1a2b3c4d-bad\xff.txt")).touch()
    assert uploads.paths() == [kept]


def test_a_label_leads_to_the_file_and_says_if_it_is_gone(tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path))
    path = uploads.keep("mine.csv", b"a,b")
    given = sources.identity(sources.label(path))
    assert given == sources.identity(path)
    assert sources.located(given) == path
    assert sources.located(sources.identity("STS-B test")) == "STS-B test"
    Path(path).unlink()
    with pytest.raises(SetNotFound, match="Upload it again"):
        sources.located(given)
    (tmp_path / sources.written(given)).touch()
    monkeypatch.chdir(tmp_path)
    assert sources.located(given) == sources.written(given), "a file that is called so"
