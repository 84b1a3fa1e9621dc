"""The SHA-256 of each file of an embedding, in a small file of its own that `sha256sum --check` reads.

It is computed from what is written, not from what the disk made of it. Each process writes those of its own shards.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from explorer.data.vectors.manifest import CHECKSUMS, ROOM
from explorer.places import whole_file

LENGTH = 64  # of a SHA-256 in digits
LONGEST = 1000  # bytes of such a file that are read


@contextmanager
def written(folder: Path, path: Path) -> Iterator[IO[bytes]]:
    """A file to write atomically, and after it its checksum."""
    with whole_file(path, ROOM) as file:
        summed = _Summed(file)
        yield summed  # type: ignore[misc]  # pyarrow writes, and asks for the position
    state(folder, path, summed.sha.hexdigest())


def state(folder: Path, path: Path, digest: str) -> None:
    """Write the checksum of a file."""
    with whole_file(_beside(folder, path), ROOM) as file:
        file.write(_line(folder, path, digest).encode())


def stated(folder: Path, path: Path) -> str | None:
    """The checksum that was written for a file; None if there is none."""
    beside = _beside(folder, path)
    if not beside.is_file():  # a named pipe would be waited for
        return None
    try:
        with beside.open("rb") as file:
            text = file.read(LONGEST).decode("ascii")
    except (OSError, ValueError):
        return None
    return text[:LENGTH] if text == _line(folder, path, text[:LENGTH]) else None


def computed(path: Path) -> str:
    """The checksum of a file as it is; "" if the disk cannot read it."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def _line(folder: Path, path: Path, digest: str) -> str:
    return f"{digest}  {path.relative_to(folder).as_posix()}\n"


def _beside(folder: Path, path: Path) -> Path:
    return folder / CHECKSUMS / f"{path.stem}.sha256"


class _Summed(io.RawIOBase):
    """A file that is written, with the SHA-256 of what was."""

    def __init__(self, file: IO[bytes]) -> None:
        self.sha, self._file = hashlib.sha256(), file

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.sha.update(data)
        return self._file.write(data)

    def tell(self) -> int:
        return self._file.tell()
