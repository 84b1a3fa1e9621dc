"""Refuse a path that is no regular file, and notice when the file of a path changes."""

from __future__ import annotations

import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from explorer.errors import UnreadableFile

_KINDS: tuple[tuple[Callable[[int], bool], str], ...] = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def check_regular(path: Path) -> None:
    """Refuse a named pipe, a socket or a device: opening it could wait for ever, and reading it never end.

    A folder, and a path with nothing there, are errors of whoever opens them.
    """
    with suppress(OSError, ValueError):
        mode = path.stat().st_mode
        for is_kind, words in _KINDS:
            if is_kind(mode):
                raise UnreadableFile(f"{path} is {words}, not a file. Save its content as a file, and give that one.")


class Stamp(NamedTuple):
    """A value that differs once the file of a path is another one, or is written to.

    Whoever copies a file can keep its size and the time of its content, but not the time of its last change.
    """

    device: int
    number: int
    size: int
    written: int
    changed: int


def stamp(path: Path) -> Stamp:
    """The stamp of a file; an OSError if it is not there."""
    found = path.stat()
    return Stamp(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
