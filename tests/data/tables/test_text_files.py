"""Test that text files are decoded and read line by line, and that damaged ones are refused."""

import codecs

import pytest

from explorer.data.tables import text_files, text_rows
from explorer.data.tables.columns import guess
from explorer.data.tables.files import read_file
from explorer.data.tables.text_files import SIGNATURES, Place, decoded, is_streamed, sentences
from explorer.data.text_sets import SENTENCES
from explorer.errors import TooFewRows, UnreadableFile

TEXT = "Où est la gare?\nNo idea.\n"


@pytest.mark.parametrize(
    "data",
    [
        TEXT.encode(),
        TEXT.encode("utf-8-sig"),
        codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"),
        codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"),
    ],
)
def test_every_marked_encoding_gives_the_same_text(data):
    assert decoded("a.txt", data) == TEXT


@pytest.mark.parametrize("end", ["\r\n", "\r", "\n"])
def test_line_ends_of_every_system_become_newlines(end):
    assert decoded("a.txt", f"One.{end}Two.{end}".encode()) == "One.\nTwo.\n"


def test_a_line_separator_inside_a_sentence_does_not_end_it():
    assert decoded("a.txt", "One\u2028sentence\x85 here.".encode()).split("\n") == ["One\u2028sentence\x85 here."]


def test_text_that_is_not_utf8_or_utf16_is_named_with_its_offset():
    data = b"Fine.\nCaf\xe9.\n"
    assert data[9] == 0xE9
    message = r"a b\.txt is not UTF-8: byte 0xe9 at offset 9 \(line 2\).*iconv -f cp1252 -t utf-8 'a b\.txt'"
    with pytest.raises(UnreadableFile, match=message):
        decoded("a b.txt", data)
    with pytest.raises(UnreadableFile, match=r"byte 0xe9 at offset 6 \(line 1\)"):
        decoded("a.txt", codecs.BOM_UTF8 + b"Caf\xe9")
    with pytest.raises(UnreadableFile, match=r"is UTF-16 that ends incompletely at byte offset 2.*as UTF-8"):
        decoded("a.txt", codecs.BOM_UTF16_LE + b"A")
    with pytest.raises(UnreadableFile, match="is binary: it has a zero byte at offset 5"):
        decoded("a.csv", b"Plain\x00text")


@pytest.mark.parametrize(("signature", "what"), SIGNATURES.items())
def test_a_file_of_another_kind_is_called_by_its_kind(signature, what):
    with pytest.raises(UnreadableFile, match=what.split("(")[0] + r".*not text\. Export"):
        decoded("a.csv", signature + b"\x00\x01 and more")


@pytest.mark.parametrize("data", [b"\n \n", codecs.BOM_UTF8, codecs.BOM_UTF16_LE])
def test_blanks_alone_are_an_empty_file(data):
    with pytest.raises(UnreadableFile, match="is empty"):
        decoded("a.csv", data)


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
    monkeypatch.setattr(text_files, "LONGEST", 50)
    (tmp_path / "text.txt").write_bytes(data)
    with pytest.raises(UnreadableFile, match=said):
        list(sentences(tmp_path / "text.txt"))


def test_a_line_is_read_at_a_time_and_what_has_no_sentence_is_refused(tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes(b"One.\n" * 10 + b"\xff\n")
    assert next(sentences(path)) == (Place(0), "One."), "the broken last line was not reached"
    with pytest.raises(UnreadableFile, match="offset 50"):
        list(sentences(path))
    (tmp_path / "text.txt").write_bytes("\u00a0\n".encode())
    assert [text for _, text in sentences(tmp_path / "text.txt")] == [""]
    with pytest.raises((TooFewRows, UnreadableFile)):
        read_whole(tmp_path / "text.txt")
