"""Refuse a path that is no regular file."""

from __future__ import annotations

import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

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
