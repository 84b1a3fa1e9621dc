"""Test that files are refused before they are opened if possible, and read by their ending."""

import os
from pathlib import Path

import pytest

from explorer.data.tables import files
from explorer.data.tables.files import ENDINGS, LARGEST, read_bytes, read_file
from explorer.errors import UnreadableFile, WrongColumns


def test_a_file_and_an_upload_of_the_same_bytes_give_the_same_table(tmp_path: Path) -> None:
    content = "score\tsentence1\tsentence2\n3\tOne.\tTwo.\n".encode("utf-8-sig")
    (tmp_path / "a.tsv").write_bytes(content)
    assert read_file(tmp_path / "a.tsv") == read_bytes("a.tsv", content)


def test_the_ending_may_be_in_capitals() -> None:
    assert read_bytes("A.TXT", b"One.\n").rows == (("One.",),)


def test_a_file_over_the_limit_is_refused_without_being_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "big.csv"
    with path.open("wb") as file:
        file.truncate(LARGEST + 1)  # a sparse file: nothing is written
    monkeypatch.setattr(Path, "read_bytes", lambda _: pytest.fail("the file was read"))
    with pytest.raises(UnreadableFile, match=r"big\.csv has 200 MB; at most 200 MB are allowed.*head -n"):
        read_file(path)


def test_an_upload_over_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LARGEST", 3)
    with pytest.raises(UnreadableFile, match="has 4 bytes; at most 3 bytes"):
        read_bytes("a.txt", b"Four")


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_empty_file_of_any_ending_is_called_empty(ending: str) -> None:
    with pytest.raises(UnreadableFile, match=f"a{ending} is empty"):
        read_bytes(f"a{ending}", b"")


@pytest.mark.parametrize(("name", "found"), [("a.xlsx", r"ends in \.xlsx"), ("README", "has no ending")])
def test_an_unknown_ending_is_answered_with_those_that_are_known(name: str, found: str) -> None:
    with pytest.raises(UnreadableFile, match=rf"{found}\. Supported: \.csv, \.tsv.* and \.parquet\."):
        read_bytes(name, b"PK\x03\x04")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match=r"There is no file .*gone\.csv"):
        read_file(tmp_path / "gone.csv")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match=r"is a folder\. Choose a file in it"):
        read_file(tmp_path)


def test_a_column_that_is_not_there_is_answered_with_those_that_are() -> None:
    table = read_bytes("a.csv", b"one,two\na,b\n")
    assert table.column("two") == ("b",)
    with pytest.raises(WrongColumns, match=r"no column 'three'\. Its columns: one, two\."):
        table.column("three")


def test_a_hundred_thousand_rows_are_all_read() -> None:
    row = "3.5\tA man is playing the guitar in the park.\tSomeone is making music out of doors.\tnews\n"
    data = ("score\tsentence1\tsentence2\tsource\n" + 100_000 * row).encode()
    assert len(read_bytes("a.tsv", data).rows) == 100_000


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_named_pipe_is_refused_at_once_and_is_not_called_empty(tmp_path: Path, ending: str) -> None:
    os.mkfifo(tmp_path / f"a{ending}")
    with pytest.raises(UnreadableFile, match=rf"a{ending} is a named pipe, not a file\. Save its content"):
        read_file(tmp_path / f"a{ending}")


def test_a_device_is_refused(tmp_path: Path) -> None:
    (tmp_path / "zero.txt").symlink_to("/dev/zero")
    with pytest.raises(UnreadableFile, match=r"zero\.txt is a device, not a file"):
        read_file(tmp_path / "zero.txt")
