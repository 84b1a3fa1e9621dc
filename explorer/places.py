"""Where does Strata keep what it makes? Nothing but folders a person can look into, and delete."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

from explorer.errors import NotWritable

_ROOM = "Make room there, or set STRATA_CACHE to a folder that can be written to."


def cache_folder() -> Path:
    """Scores and files brought by the user: STRATA_CACHE, or `strata` in the user's cache folder."""
    chosen = os.environ.get("STRATA_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    caches = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(caches).expanduser() / "strata"


def runs_folder() -> Path:
    """Training runs, a folder each: STRATA_RUNS, or `checkpoints` beside the program."""
    chosen = os.environ.get("STRATA_RUNS")
    return Path(chosen).expanduser() if chosen else Path(__file__).parent.parent / "checkpoints"


def examples_folder() -> Path:
    """Finished runs that ship with Strata, a folder each, without weights; nothing is written there."""
    return Path(__file__).parent / "data" / "examples"


def write_whole(path: Path, write: Callable[[IO[bytes]], object], next_step: str = _ROOM) -> None:
    """Write a file whole or not at all: into a temporary neighbour, then a rename."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                write(file)
            Path(temporary).replace(path)
        except BaseException:  # also when the process is told to stop: nothing half-written stays behind
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise NotWritable(f"{path.parent} cannot be written to: {error.strerror or error}. {next_step}") from error
