"""Read a text file: all of its text at once, or one sentence per line from any place in it.

Text is UTF-8; a file that is read at once may be UTF-16 with a byte order mark. Read line by line, a file may be larger
than memory.
"""

import codecs
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

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
TABBED = 0.9  # share of lines with as many tabs as the first from which on a text is a table

ENDING = ".txt"  # of files that can be read line by line
LONGEST = 2**24  # bytes of a line; without a limit, a file without line ends would be read whole
HEAD = 2**16  # bytes by which a file is recognised as a table


def decoded(name: str, data: bytes) -> str:
    """The text of a file, with newlines as line ends and without the byte order mark."""
    return with_newlines(as_written(name, data))


def with_newlines(text: str) -> str:
    """A text with newlines as line ends."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def as_written(name: str, data: bytes) -> str:
    """The text of a file with the line ends that it has, without the byte order mark."""
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
        if error.encoding.startswith("utf-16"):
            raise UnreadableFile(
                f"{name} is UTF-16 that ends incompletely at byte offset {error.start}. Save it again as UTF-8."
            ) from None
        body = error.object  # without the byte order mark
        line = body.count(b"\n", 0, error.start) + 1
        raise _not_utf8(name, error, f"{error.start + len(data) - len(body)} (line {line})") from None
    if not text.strip():
        raise UnreadableFile(f"{name} is empty. Choose a file with at least one sentence in it.")
    return text


def check_kind(name: str, data: bytes) -> None:
    """Refuse a file that is not text, by its first bytes."""
    for signature, what in SIGNATURES.items():
        if data.startswith(signature):
            raise UnreadableFile(
                f"{name} is {what}, not text. Export its sentences as UTF-8 text (.csv, .tsv or .txt), "
                "or give the file its correct ending."
            )


def is_tabbed(text: str) -> bool:
    """Whether nearly all lines have as many tabs as the first one, which has some."""
    tabs = [line.strip().count("\t") for line in text.split("\n") if line.strip()]  # outer tabs are indentation
    return len(tabs) > 1 and tabs[0] > 0 and tabs.count(tabs[0]) >= TABBED * len(tabs)


class Place(NamedTuple):  # one is made for each sentence, in a third of the time that a dataclass takes
    """Where a sentence begins: the offset of its line, and how many sentences of that line come before it."""

    offset: int = 0
    before: int = 0  # more than 0 only if carriage returns end lines, as on old systems


FIRST = Place()


def is_streamed(path: Path) -> bool:
    """Whether `sentences` can read a file; tables and UTF-16 are read at once, by `files`."""
    try:
        if path.suffix.lower() != ENDING or not path.is_file():
            return False
        with path.open("rb") as file:
            head = file.read(HEAD)
    except (OSError, ValueError):  # reading it again says what is wrong
        return False
    lines = head if len(head) < HEAD else head[: head.rfind(b"\n") + 1]
    return not head.startswith(UTF_16_MARKS) and not is_tabbed(lines.decode("utf-8", "replace"))


def sentences(path: Path, start: Place = FIRST) -> Iterator[tuple[Place, str]]:
    """Every sentence from a place on as it is written, with its own place; a sentence without a word is ""."""
    try:
        with path.open("rb") as file:
            if start == FIRST:
                head = file.read(HEAD)
                if not head:
                    raise UnreadableFile(f"{path.name} is empty. Choose a file with at least one sentence in it.")
                check_kind(path.name, head)
            offset = file.seek(start.offset)
            before = start.before
            while line := file.readline(LONGEST + 1):
                for at, text in enumerate(_lines_in(path.name, line, offset)):
                    if at >= before:
                        yield Place(offset, at), "" if text.isspace() else text
                offset, before = offset + len(line), 0
    except OSError as error:
        raise UnreadableFile(
            f"{path} cannot be read: {error.strerror or error}. Check that it is there, and its permissions."
        ) from error


def _lines_in(name: str, line: bytes, offset: int) -> list[str]:
    """The sentences of a line: one, unless carriage returns end lines inside it."""
    if len(line) > LONGEST:
        raise UnreadableFile(
            f"{name}: the line at offset {offset:,} has more than {LONGEST:,} bytes. Write one sentence per line."
        )
    if (at := line.find(0)) >= 0:
        raise UnreadableFile(
            f"{name} is binary: it has a zero byte at offset {offset + at}. Choose a text file of UTF-8."
        )
    body = line.removeprefix(codecs.BOM_UTF8) if offset == 0 else line
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _not_utf8(name, error, f"{offset + len(line) - len(body) + error.start}") from None
    return with_newlines(text.removesuffix("\n").removesuffix("\r")).split("\n")


def _not_utf8(name: str, error: UnicodeDecodeError, offset: str) -> UnreadableFile:
    return UnreadableFile(
        f"{name} is not UTF-8: byte 0x{error.object[error.start]:02x} at offset {offset}. "
        f"Save it as UTF-8; e.g. iconv -f cp1252 -t utf-8 {shlex.quote(name)} > {shlex.quote('utf8-' + name)}"
    )
