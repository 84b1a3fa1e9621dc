"""SHA-256 digests of files, cached until a file changes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from explorer.places import stamp


def of_file(path: Path) -> str:
    """The SHA-256 of a file."""
    return _sha256(path, stamp(path))


def of_files(folder: Path, paths: Iterable[Path]) -> str:
    """The SHA-256 of files of a folder: their content and names, not the folder's path."""
    sha = hashlib.sha256()
    for name, path in sorted((path.relative_to(folder).as_posix(), path) for path in paths):
        sha.update(f"{of_file(path)}  {name}\n".encode("utf-8", "surrogateescape"))
    return sha.hexdigest()


def joined(*found: str) -> str:
    """The SHA-256 of several digests, in this order."""
    return hashlib.sha256("\n".join(found).encode()).hexdigest()


@lru_cache(maxsize=4096)
def _sha256(path: Path, stamp: tuple[int, ...]) -> str:
    # the stamp is part of the key: a changed file is read again
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
