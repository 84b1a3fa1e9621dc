"""Write a folder atomically: complete, or not at all."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from explorer.errors import NotWritable
from explorer.places import settle, sync


@contextmanager
def whole(folder: Path) -> Iterator[Path]:
    """A temporary folder beside the target, renamed to it when it is complete."""
    if folder.exists():
        raise NotWritable(f"{folder} exists already and is not overwritten. Choose another name, or remove it.")
    part = folder.with_name(f"{folder.name}.part")
    try:
        _remove(part)  # left by a process that was killed
        part.mkdir(parents=True)
        yield part
        settle(part)
        part.rename(folder)
        sync(folder.parent)
    except BaseException as error:  # also when the process is stopped: remove the incomplete folder
        with suppress(OSError):
            _remove(part)
        reason = _of_the_disk(error)
        if reason is None:
            raise
        raise NotWritable(
            f"{folder} cannot be written: {reason}. Make room there, or keep runs in a folder on another disk "
            "(STRATA_RUNS)."
        ) from error


def _remove(part: Path) -> None:
    if part.is_dir() and not part.is_symlink():
        shutil.rmtree(part)
    else:
        part.unlink(missing_ok=True)


def _of_the_disk(error: BaseException) -> str | None:
    """The system's error message; None if the error is not the disk's."""
    if isinstance(error, OSError):
        return error.strerror or str(error)
    number = re.search(r"\(os error (\d+)\)", str(error))  # safetensors and tokenizers raise their own errors
    return os.strerror(int(number[1])) if number else None
