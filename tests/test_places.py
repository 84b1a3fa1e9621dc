"""Test that what Strata writes can be read by whom the umask allows, and that nothing of a failed write is left."""

import os
import stat

import pytest

from explorer.errors import NotWritable
from explorer.places import whole_file, write_whole


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
