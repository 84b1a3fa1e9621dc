"""How does a folder come to be whole, or not to be there at all?"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from explorer.errors import NotWritable


@contextmanager
def whole(folder: Path) -> Iterator[Path]:
    """A neighbour to write into, which takes the folder's name once everything is in it."""
    if folder.exists():
        raise NotWritable(f"{folder} is there already, and is not written over. Choose another name, or remove it.")
    part = folder.with_name(f"{folder.name}.part")
    try:
        _remove(part)  # of a process that was ended
        part.mkdir(parents=True)
        yield part
        part.rename(folder)
    except BaseException as error:  # also when the process is told to stop: nothing half-written stays behind
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
    """What the system said; None where the disk is not to blame."""
    if isinstance(error, OSError):
        return error.strerror or str(error)
    said = re.search(r"\(os error (\d+)\)", str(error))  # safetensors and tokenizers raise errors of their own
    return os.strerror(int(said[1])) if said else None
