"""Test that every file is decoded, or refused with a next step."""

import codecs

import pytest

from explorer.data.tables.decoding import SIGNATURES, decoded
from explorer.errors import UnreadableFile

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
def test_every_marked_encoding_gives_the_same_text(data: bytes) -> None:
    assert decoded("a.txt", data) == TEXT


@pytest.mark.parametrize("end", ["\r\n", "\r", "\n"])
def test_line_ends_of_every_system_become_newlines(end: str) -> None:
    assert decoded("a.txt", f"One.{end}Two.{end}".encode()) == "One.\nTwo.\n"


def test_a_line_separator_inside_a_sentence_does_not_end_it() -> None:
    assert decoded("a.txt", "One\u2028sentence\x85 here.".encode()).split("\n") == ["One\u2028sentence\x85 here."]


def test_a_byte_that_is_not_utf8_is_named_with_its_offset_and_line() -> None:
    data = b"Fine.\nCaf\xe9.\n"
    assert data[9] == 0xE9
    message = r"a b\.txt is not UTF-8: byte 0xe9 at offset 9 \(line 2\).*iconv -f cp1252 -t utf-8 'a b\.txt'"
    with pytest.raises(UnreadableFile, match=message):
        decoded("a b.txt", data)


def test_the_offset_counts_the_byte_order_mark() -> None:
    with pytest.raises(UnreadableFile, match=r"byte 0xe9 at offset 6 \(line 1\)"):
        decoded("a.txt", codecs.BOM_UTF8 + b"Caf\xe9")


def test_utf16_that_breaks_off_is_named() -> None:
    with pytest.raises(UnreadableFile, match=r"is UTF-16 that ends incompletely at byte offset 2.*as UTF-8"):
        decoded("a.txt", codecs.BOM_UTF16_LE + b"A")


@pytest.mark.parametrize(("signature", "what"), SIGNATURES.items())
def test_a_file_of_another_kind_is_called_by_its_kind(signature: bytes, what: str) -> None:
    with pytest.raises(UnreadableFile, match=what.split("(")[0] + r".*not text\. Export"):
        decoded("a.csv", signature + b"\x00\x01 and more")


def test_a_zero_byte_means_binary() -> None:
    with pytest.raises(UnreadableFile, match="is binary: it has a zero byte at offset 5"):
        decoded("a.csv", b"Plain\x00text")


@pytest.mark.parametrize("data", [b"\n \n", codecs.BOM_UTF8, codecs.BOM_UTF16_LE])
def test_blanks_alone_are_an_empty_file(data: bytes) -> None:
    with pytest.raises(UnreadableFile, match="is empty"):
        decoded("a.csv", data)
