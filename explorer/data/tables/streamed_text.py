"""Read a text file of one sentence per line from any place in it, without holding the file in memory."""

from __future__ import annotations

import codecs
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from explorer.data.tables.decoding import UTF_16_MARKS, check_kind
from explorer.data.tables.delimited import is_tabbed
from explorer.errors import UnreadableFile

ENDING = ".txt"
LONGEST = 2**24  # bytes of a line; without a limit, a file without line ends would be read whole
HEAD = 2**16  # bytes by which a file is recognised as a table


class Place(NamedTuple):  # one is made for each sentence, in a third of the time that a dataclass takes
    """Where a sentence begins: the offset of its line, and how many sentences of that line come before it."""

    offset: int = 0
    before: int = 0  # more than 0 only if carriage returns end lines, as on old systems


def is_streamed(path: Path) -> bool:
    """Whether a file can be read in this way; tables, and UTF-16, are read whole by `files`."""
    try:
        if path.suffix.lower() != ENDING or not path.is_file():
            return False
        with path.open("rb") as file:
            head = file.read(HEAD)
    except (OSError, ValueError):  # reading it again says what is wrong
        return False
    lines = head if len(head) < HEAD else head[: head.rfind(b"\n") + 1]
    return not head.startswith(UTF_16_MARKS) and not is_tabbed(lines.decode("utf-8", "replace"))


FIRST = Place()


def sentences(path: Path, start: Place = FIRST) -> Iterator[tuple[Place, str]]:
    """Every sentence from a place on, with its own place; a sentence without a word is "".

    As in other files, single spaces separate its words, and there are none around it.
    """
    try:
        with path.open("rb") as file:
            if start == FIRST:
                _check_head(path.name, file.read(HEAD))
            offset = file.seek(start.offset)
            before = start.before
            while line := file.readline(LONGEST + 1):
                for at, text in enumerate(_decoded(path.name, line, offset)):
                    if at >= before:
                        yield Place(offset, at), " ".join(text.split())
                offset, before = offset + len(line), 0
    except OSError as error:
        raise UnreadableFile(
            f"{path} cannot be read: {error.strerror or error}. Check that it is there, and its permissions."
        ) from error


def _check_head(name: str, head: bytes) -> None:
    if not head:
        raise UnreadableFile(f"{name} is empty. Choose a file with at least one sentence in it.")
    check_kind(name, head)


def _decoded(name: str, line: bytes, offset: int) -> list[str]:
    """The sentences of a line: one, unless carriage returns end lines inside it."""
    if len(line) > LONGEST:
        raise UnreadableFile(
            f"{name}: the line at offset {offset:,} has more than {LONGEST:,} bytes. Write one sentence per line."
        )
    if (at := line.find(0)) >= 0:
        raise UnreadableFile(
            f"{name} is binary: it has a zero byte at offset {offset + at}. Choose a text file of UTF-8."
        )
    marked = offset == 0 and line.startswith(codecs.BOM_UTF8)
    body = line[len(codecs.BOM_UTF8) :] if marked else line
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        at = offset + len(line) - len(body) + error.start
        raise UnreadableFile(
            f"{name} is not UTF-8: byte 0x{body[error.start]:02x} at offset {at}. "
            f"Save it as UTF-8; e.g. iconv -f cp1252 -t utf-8 {shlex.quote(name)} > {shlex.quote('utf8-' + name)}"
        ) from None
    if "\r" not in text:
        return [text]
    return text.removesuffix("\n").removesuffix("\r").replace("\r\n", "\n").replace("\r", "\n").split("\n")
