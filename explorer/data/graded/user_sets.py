"""Store uploaded scored pairs on this disk, so that a reload or a link finds them again.

A file has two lines of JSON, its name and its columns, so that a menu reads first lines only. It is stored under the
first digits of its digest; other pairs whose digest begins alike get more digits. Its dev and test halves, and the
parts of its dev half, are computed from its pairs.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from explorer.data.graded.set_identity import SetIdentity, SetKind
from explorer.data.kinds import GradedPairs
from explorer.data.splitting import piece
from explorer.errors import NotWritable, SetNotFound
from explorer.places import cache_folder, free_start, kept, write_whole

_STEM = re.compile("[0-9a-f]{8,64}")
_COLUMNS = ("first", "second", "gold", "parts")
# errors of reading a broken, foreign or missing file
_FAULTS = (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError)


def keep(pairs: GradedPairs) -> SetIdentity:
    """Store pairs, and return the identity of the set."""
    given = SetIdentity(SetKind.UPLOADED, pairs.name, free_start(pairs.digest, _digest_under))
    lines = {"name": pairs.name}, {column: getattr(pairs, column) for column in _COLUMNS}
    content = "\n".join(json.dumps(line, ensure_ascii=False) for line in lines).encode("utf-8", "surrogatepass")
    write_whole(path(given), lambda file: file.write(content))
    return given


def kept_sets() -> tuple[SetIdentity, ...]:
    """The uploaded sets, newest first, without unreadable ones."""
    there = (file for file in kept(_folder(), "*.jsonl") if _STEM.fullmatch(file.stem))
    found = filter(None, map(_age_and_name, there))
    return tuple(SetIdentity(SetKind.UPLOADED, name, digest) for _, name, digest in sorted(found, reverse=True))


def graded_pairs(given: SetIdentity) -> GradedPairs:
    """Load an uploaded set, or a piece of it."""
    file = path(given)
    try:
        pairs = _read(file)
        if pairs.digest.startswith(file.stem):
            return piece(pairs, given.piece) if given.piece else pairs
        fault = "was changed after the upload"
    except FileNotFoundError:
        fault = "is no longer stored on this machine"
    except _FAULTS:
        fault = f"can no longer be read from {file}"
    raise SetNotFound(
        f"The file '{given.title}' {fault}. Upload it again on the Start page, or choose another set in the sidebar."
    )


def forget(given: SetIdentity) -> None:
    """Delete a set from this disk; the user's original file is not changed."""
    file = path(given)
    try:
        file.unlink(missing_ok=True)
    except OSError as error:
        raise NotWritable(
            f"'{given.title}' cannot be deleted: {file}: {error.strerror or error}. Make its folder writable, or "
            "delete the file by hand."
        ) from error


def path(given: SetIdentity) -> Path:
    """The path of an uploaded set."""
    return _folder() / f"{given.digest}.jsonl"


def _folder() -> Path:
    return cache_folder() / "sets"


def _digest_under(mark: str) -> str | None:
    """The digest of the pairs that are stored under a mark; None if there are none, or the file is broken."""
    try:
        return _read(_folder() / f"{mark}.jsonl").digest
    except _FAULTS:
        return None


def _age_and_name(file: Path) -> tuple[int, str, str] | None:
    """When a file was written, the name of its pairs and the start of their digest; None if it is broken."""
    try:
        with file.open("rb") as lines:
            name = f"{_parsed(lines.readline())['name']}"
            return os.fstat(lines.fileno()).st_mtime_ns, name, file.stem
    except _FAULTS:
        return None


def _read(file: Path) -> GradedPairs:
    head, columns = map(_parsed, file.read_bytes().split(b"\n"))
    return GradedPairs(head["name"], *(tuple(columns[column]) for column in _COLUMNS))


def _parsed(line: bytes) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(line.decode("utf-8", "surrogatepass"))
    return value
