"""Store uploaded text files on this disk, so that a run can be resumed and repeated.

A file is stored as `1a2b3c4d-mine.txt`, by its content and its name. Pages show its name, commands use its path. Each
path has one content: another one whose digest begins alike gets more digits, and an edited file is not read.
"""

import hashlib
import re
from contextlib import suppress
from pathlib import Path

from explorer.errors import NotWritable, UnreadableFile
from explorer.places import cache_folder, free_start, is_utf8, kept, write_whole

_KEPT = re.compile(r"([0-9a-f]{8,64})-(.+)", re.DOTALL)


def keep(name: str, data: bytes) -> str:
    """Write a file into the folder of uploads; return its path."""
    safe = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "text.txt"

    def digest_under(start: str) -> str | None:
        with suppress(OSError):
            return hashlib.sha256(path(safe, start).read_bytes()).hexdigest()
        return None

    start = free_start(hashlib.sha256(data).hexdigest(), digest_under)
    written = path(safe, start)
    write_whole(written, lambda file: file.write(data))
    return str(written)


def check(source: str | Path, data: bytes) -> None:
    """Refuse the bytes of an uploaded file that are not those that were uploaded; any other file may hold anything."""
    kept = _match(source)
    if kept and not hashlib.sha256(data).hexdigest().startswith(kept[1]):
        raise UnreadableFile(f"{kept[2]} was changed after the upload. Upload it again, or give the path of a copy.")


def paths() -> list[str]:
    """The files that were uploaded before; a file that is being written is none of them."""
    return sorted(str(path) for path in kept(_folder(), "*") if _KEPT.fullmatch(path.name) and is_utf8(path.name))


def forget(source: str) -> None:
    """Delete Strata's copy of an uploaded file; the user's original file is not changed."""
    kept = _match(source)
    if kept is None:
        raise UnreadableFile(f"{source} is no uploaded file, so it is not deleted.")
    try:
        Path(source).unlink(missing_ok=True)
    except OSError as error:
        raise NotWritable(
            f"'{kept[2]}' cannot be deleted: {source}: {error.strerror or error}. Make its folder writable, or delete "
            "the file by hand."
        ) from error


def name_of(source: str | Path) -> str | None:
    """`mine.txt`: the name an uploaded file had; None for every other source."""
    kept = _match(source)
    return kept[2] if kept else None


def name_and_mark(source: str | Path) -> tuple[str, str] | None:
    """The name of an uploaded file and the start of the digest of its content; None for every other source."""
    kept = _match(source)
    return (kept[2], kept[1]) if kept else None


def path(name: str, mark: str) -> Path:
    """The path of an uploaded file by its name and the start of the digest of its content."""
    return _folder() / f"{mark}-{name}"


def _match(source: str | Path) -> re.Match[str] | None:
    path = Path(source)
    match = _KEPT.fullmatch(path.name)
    return match if match and path.parent == _folder() else None


def _folder() -> Path:
    return cache_folder() / "texts"
