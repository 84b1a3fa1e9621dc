"""Store uploaded text files on this disk, so that a run can be resumed and repeated.

A file is stored as `1a2b3c4d-mine.txt`, by its content and its name. Pages show its name, commands use its path.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from explorer.places import cache_folder, is_utf8, kept, write_whole

_KEPT = re.compile(r"([0-9a-f]{8})-(.+)", re.DOTALL)


def keep(name: str, data: bytes) -> str:
    """Write a file into the folder of uploads; return its path."""
    safe = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "text.txt"
    path = _folder() / f"{hashlib.sha256(data).hexdigest()[:8]}-{safe}"
    write_whole(path, lambda file: file.write(data))
    return str(path)


def paths() -> list[str]:
    """The files that were uploaded before; a file that is being written is none of them."""
    return sorted(str(path) for path in kept(_folder(), "*") if _KEPT.fullmatch(path.name) and is_utf8(path.name))


def name_of(source: str | Path) -> str | None:
    """`mine.txt`: the name an uploaded file had; None for every other source."""
    kept = _match(source)
    return kept[2] if kept else None


def name_and_mark(source: str | Path) -> tuple[str, str] | None:
    """The name of an uploaded file and the start of the digest of its content; None for every other source."""
    kept = _match(source)
    return (kept[2], kept[1]) if kept else None


def label(source: str) -> str:
    """`mine.txt (1a2b3c4d)`, which distinguishes uploads of one name; any other source unchanged."""
    kept = _match(source)
    return f"{kept[2]} ({kept[1]})" if kept else source


def _match(source: str | Path) -> re.Match[str] | None:
    path = Path(source)
    return _KEPT.fullmatch(path.name) if path.parent == _folder() else None


def _folder() -> Path:
    return cache_folder() / "texts"
