"""Store uploaded scored pairs on this disk, so that a reload or a link finds them again.

A file has two lines of JSON, its name and its columns, so that a menu reads first lines only. Its dev and
test halves, and the parts of its dev half, are named after it and computed from its pairs: `mine.csv · 1a2b3c4d` has
`mine.csv · 1a2b3c4d · test half`. Other pairs whose digest begins alike get more digits.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from explorer.data.kinds import GradedPairs
from explorer.data.splitting import PIECES, piece
from explorer.errors import NotWritable, SetNotFound
from explorer.places import cache_folder, free_start, kept, write_whole

# the end of a name in the menu: a mark that distinguishes files of one name, then the piece of the file if any
_MARK = re.compile(rf" · ([0-9a-f]{{8,64}})(?: · ({'|'.join(PIECES)}))?$")
_STEM = re.compile("[0-9a-f]{8,64}")
_COLUMNS = ("first", "second", "gold", "parts")
# errors of reading a broken, foreign or missing file
_FAULTS = (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError)


def keep(pairs: GradedPairs) -> str:
    """Store pairs, and return their name in the menu."""
    name = _menu_name(pairs.name, free_start(pairs.digest, _digest_under))
    lines = {"name": pairs.name}, {column: getattr(pairs, column) for column in _COLUMNS}
    content = "\n".join(json.dumps(line, ensure_ascii=False) for line in lines).encode("utf-8", "surrogatepass")
    write_whole(path(name), lambda file: file.write(content))
    return name


def names() -> tuple[str, ...]:
    """The names of uploaded sets in the menu, newest first, without unreadable ones."""
    there = (file for file in kept(_folder(), "*.jsonl") if _STEM.fullmatch(file.stem))
    found = filter(None, map(_age_and_name, there))
    return tuple(name for _, name in sorted(found, reverse=True))


def is_own(name: str) -> bool:
    """Whether a name is that of an uploaded set, or of a piece of one."""
    return _MARK.search(name) is not None


def whole(name: str) -> str:
    """The name of the whole set of a piece; of a whole set its own name."""
    mark = _MARK.search(name)
    return name[: mark.end(1)] if mark else name


def piece_name(name: str, piece: str) -> str:
    """The name of a piece of the same set: one of `splitting.PIECES`."""
    return f"{whole(name)} · {piece}"


def graded_pairs(name: str) -> GradedPairs:
    """Load an uploaded set by name, or a piece of it."""
    file, mark = path(name), _MARK.search(name)
    try:
        pairs = _read(file)
        if pairs.digest.startswith(file.stem):
            return piece(pairs, mark[2]) if mark and mark[2] else pairs
        fault = "was changed after the upload"
    except FileNotFoundError:
        fault = "is no longer stored on this machine"
    except _FAULTS:
        fault = f"can no longer be read from {file}"
    raise SetNotFound(
        f"The file '{name}' {fault}. Upload it again on the Start page, or choose another set in the sidebar."
    )


def forget(name: str) -> None:
    """Delete a set from this disk; the user's original file is not changed."""
    file = path(name)
    try:
        file.unlink(missing_ok=True)
    except OSError as error:
        raise NotWritable(
            f"'{name}' cannot be deleted: {file}: {error.strerror or error}. Make its folder writable, or delete the "
            "file by hand."
        ) from error


def path(name: str) -> Path:
    """The path of an uploaded set."""
    mark = _MARK.search(name)
    return _folder() / f"{mark[1] if mark else 'none'}.jsonl"


def _folder() -> Path:
    return cache_folder() / "sets"


def _digest_under(mark: str) -> str | None:
    """The digest of the pairs that are stored under a mark; None if there are none, or the file is broken."""
    try:
        return _read(_folder() / f"{mark}.jsonl").digest
    except _FAULTS:
        return None


def _menu_name(name: str, mark: str) -> str:
    return f"{name} · {mark}"


def _age_and_name(file: Path) -> tuple[int, str] | None:
    try:
        with file.open("rb") as lines:
            name = _menu_name(_parsed(lines.readline())["name"], file.stem)
            return os.fstat(lines.fileno()).st_mtime_ns, name
    except _FAULTS:
        return None


def _read(file: Path) -> GradedPairs:
    head, columns = map(_parsed, file.read_bytes().split(b"\n"))
    return GradedPairs(head["name"], *(tuple(columns[column]) for column in _COLUMNS))


def _parsed(line: bytes) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(line.decode("utf-8", "surrogatepass"))
    return value
