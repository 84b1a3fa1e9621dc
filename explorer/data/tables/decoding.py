"""Decode the bytes of a text file: UTF-8, or UTF-16 with a byte order mark."""

from __future__ import annotations

import codecs
import shlex

from explorer.errors import UnreadableFile

# The first bytes of common wrong files. A pickle is recognised here but never opened: it could run code.
SIGNATURES: dict[bytes, str] = {
    b"\x89PNG": "a PNG picture",
    b"\xff\xd8\xff": "a JPEG picture",
    b"%PDF": "a PDF",
    b"PK\x03\x04": "a ZIP archive (Excel and Word files are, too)",
    b"\x1f\x8b": "a gzip archive",
    b"PAR1": "a Parquet file",
    b"\x93NUMPY": "a NumPy array",
    b"\x80\x02": "a Python pickle",
    b"\x80\x03": "a Python pickle",
    b"\x80\x04": "a Python pickle",
    b"\x80\x05": "a Python pickle",
    b"SQLite format 3": "an SQLite database",
    b"\x7fELF": "a program",
}
UTF_16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def decoded(name: str, data: bytes) -> str:
    """The text of a file, with newlines as line ends and without the byte order mark."""
    check_kind(name, data)
    encoding = "utf-16" if data.startswith(UTF_16_MARKS) else "utf-8-sig"
    if encoding != "utf-16" and (at := data.find(0)) >= 0:
        raise UnreadableFile(
            f"{name} is binary: it has a zero byte at offset {at}. "
            "Choose a text file, or export its sentences as UTF-8 .csv or .txt."
        )
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise UnreadableFile(_not_text(name, data, error)) from None
    if not text.strip():
        raise UnreadableFile(f"{name} is empty. Choose a file with at least one sentence in it.")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def check_kind(name: str, data: bytes) -> None:
    """Refuse a file that is not text, by its first bytes."""
    for signature, what in SIGNATURES.items():
        if data.startswith(signature):
            raise UnreadableFile(
                f"{name} is {what}, not text. Export its sentences as UTF-8 text (.csv, .tsv or .txt), "
                "or give the file its correct ending."
            )


def _not_text(name: str, data: bytes, error: UnicodeDecodeError) -> str:
    if error.encoding.startswith("utf-16"):
        return f"{name} is UTF-16 that ends incompletely at byte offset {error.start}. Save it again as UTF-8."
    body = error.object  # without the byte order mark
    at, line = error.start + len(data) - len(body), body.count(b"\n", 0, error.start) + 1
    return (
        f"{name} is not UTF-8: byte 0x{body[error.start]:02x} at offset {at} (line {line}). "
        f"Save it as UTF-8; e.g. iconv -f cp1252 -t utf-8 {shlex.quote(name)} > {shlex.quote('utf8-' + name)}"
    )
