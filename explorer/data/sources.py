"""What a user names as a source of text: a file, or a set by its name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from explorer.data import uploads
from explorer.data.graded import sets
from explorer.data.kinds import GradedPairs
from explorer.data.tables import text_rows
from explorer.data.tables.row_reports import Report
from explorer.errors import SetNotFound

_PATH = re.compile(r"[/~.\\]|[A-Za-z]:[\\/]")  # the start of a path on this machine


def is_file(source: str) -> bool:
    """Whether a source is a file: not the name of a set, and with an ending, in a folder, or on this disk."""
    with suppress(SetNotFound):
        sets.check(source)
        return False
    path = Path(source)
    with suppress(OSError, ValueError):  # too long for a file name, or with a null byte
        return bool(path.suffix) or len(path.parts) > 1 or (bool(source) and path.exists())
    return False


def is_folder(source: str) -> bool:
    """Whether a source is a folder on this disk."""
    with suppress(OSError, RuntimeError, ValueError):  # too long, no such user, or with a null byte
        return bool(source) and Path(source).expanduser().is_dir()
    return False


def shown(source: str) -> str:
    """The name of a source as shown: of an uploaded file its name, of a path on this machine its last part."""
    uploaded = uploads.name_of(source)
    if uploaded is not None:
        return uploaded
    return re.split(r"[\\/]", source.rstrip("\\/"))[-1] if _PATH.match(source) else source


def scored_pairs(
    source: str, columns: Mapping[str, str | None] | None = None, online: bool = False
) -> tuple[GradedPairs, Report | None]:
    """The scored pairs of a file, with a report on its rows, or of a set, whose columns are known."""
    if is_file(source):
        return text_rows.read_graded_pairs(source, columns)
    return sets.by_name(source, online=online), None
