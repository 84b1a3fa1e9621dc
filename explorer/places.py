"""The folders where Strata writes: cache and training runs."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

from explorer.errors import NotWritable

_ROOM = "Make room there, or set STRATA_CACHE to a folder that can be written to."


def cache_folder() -> Path:
    """The folder of scores and uploaded files: STRATA_CACHE, or `strata` in the user's cache folder."""
    chosen = os.environ.get("STRATA_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    caches = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(caches).expanduser() / "strata"


def runs_folder() -> Path:
    """The folder of training runs: STRATA_RUNS, or `checkpoints` beside the program."""
    chosen = os.environ.get("STRATA_RUNS")
    return Path(chosen).expanduser() if chosen else Path(__file__).parent.parent / "checkpoints"


def examples_folder() -> Path:
    """The read-only folder of finished runs that ship with Strata, without weights."""
    return Path(__file__).parent / "data" / "examples"


def write_whole(path: Path, write: Callable[[IO[bytes]], object], next_step: str = _ROOM) -> None:
    """Write a file atomically: to a temporary file beside it, then rename."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                write(file)
            Path(temporary).replace(path)
        except BaseException:  # also when the process is stopped: remove the incomplete file
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise NotWritable(f"{path.parent} cannot be written to: {error.strerror or error}. {next_step}") from error
