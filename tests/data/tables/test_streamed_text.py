"""Test that a text read line by line gives the sentences of the reader that reads it whole."""

import codecs

import pytest

from explorer.data.row_kinds import SENTENCES
from explorer.data.tables import streamed_text, text_rows
from explorer.data.tables.columns import guess
from explorer.data.tables.files import read_file
from explorer.data.tables.streamed_text import Place, is_streamed, sentences
from explorer.errors import TooFewRows, UnreadableFile

TEXTS = {
    "plain": b"One two.\nThree.\n",
    "without a last line end": b"One.\nTwo.",
    "blank lines": "One.\n\n \u00a0\t\nTwo.\n\n".encode(),
    "spaces": "  One \u00a0 two.\t\nThree\u2028four\x0bfive.\n".encode(),
    "Windows": b"One.\r\n\r\nTwo.\r\n",
    "carriage returns": b"One.\rTwo.\r\rThree.\r",
    "mixed": b"One.\rTwo.\r\nThree.\nFour.",
    "marked": codecs.BOM_UTF8 + "Où?\nLà.\n".encode(),
    "a mark inside": "One.\n\ufeffTwo.\n".encode(),
    "repeats": b"One.\nOne.\n",
}


def read_whole(path):
    table = read_file(path)
    return text_rows.sentences(table, guess(table, SENTENCES), keep_duplicates=True)[0].texts


@pytest.mark.parametrize("data", TEXTS.values(), ids=TEXTS)
def test_the_sentences_are_those_of_the_reader_of_files(tmp_path, data):
    path = tmp_path / "text.txt"
    path.write_bytes(data)
    assert is_streamed(path)
    assert tuple(text for _, text in sentences(path) if text) == read_whole(path)


@pytest.mark.parametrize("data", TEXTS.values(), ids=TEXTS)
def test_reading_goes_on_from_the_place_of_any_sentence(tmp_path, data):
    path = tmp_path / "text.txt"
    path.write_bytes(data)
    every = list(sentences(path))
    for at, (place, _) in enumerate(every):
        assert list(sentences(path, place)) == every[at:]


def test_tables_and_utf_16_are_left_to_the_reader_of_files(tmp_path):
    for name, data in {
        "tabs.txt": b"a\tb\nc\td\n",
        "utf16.txt": codecs.BOM_UTF16_LE + "One.\n".encode("utf-16-le"),
        "text.csv": b"One.\n",
    }.items():
        (tmp_path / name).write_bytes(data)
        assert not is_streamed(tmp_path / name)
    assert not is_streamed(tmp_path / "nowhere.txt")
    assert not is_streamed(tmp_path)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"Fine.\nCaf\xe9.\n", r"text\.txt is not UTF-8: byte 0xe9 at offset 9"),
        (codecs.BOM_UTF8 + b"Caf\xe9.\n", r"byte 0xe9 at offset 6"),
        (b"Fine.\nA\0b\n", r"zero byte at offset 7"),
        (b"Fine.\n" + b"x" * 100, r"the line at offset 6 has more than 50 bytes"),
        (b"%PDF-1.7\n", r"is a PDF, not text"),
    ],
)
def test_what_is_no_text_is_named_with_its_offset(tmp_path, monkeypatch, data, said):
    monkeypatch.setattr(streamed_text, "LONGEST", 50)
    (tmp_path / "text.txt").write_bytes(data)
    with pytest.raises(UnreadableFile, match=said):
        list(sentences(tmp_path / "text.txt"))


def test_a_line_is_read_at_a_time(tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes(b"One.\n" * 10 + b"\xff\n")
    first = next(sentences(path))
    assert first == (Place(0), "One."), "the broken last line was not reached"
    with pytest.raises(UnreadableFile, match="offset 50"):
        list(sentences(path))


def test_the_reader_of_files_refuses_what_has_no_sentence(tmp_path):
    (tmp_path / "text.txt").write_bytes("\u00a0\n".encode())
    assert [text for _, text in sentences(tmp_path / "text.txt")] == [""]
    with pytest.raises((TooFewRows, UnreadableFile)):
        read_whole(tmp_path / "text.txt")
