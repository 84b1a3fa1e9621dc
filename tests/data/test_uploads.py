"""Test which files are offered as uploads."""

import os
from pathlib import Path

from explorer.data import uploads


def test_a_file_whose_name_is_not_utf8_which_no_page_can_show_is_not_offered(tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path))
    kept = uploads.keep("mine.txt", b"one\ntwo\n")
    Path(kept).with_name(os.fsdecode(b"1a2b3c4d-bad\xff.txt")).touch()
    assert uploads.paths() == [kept]
