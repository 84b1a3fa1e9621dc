"""Lock a folder for the process that works in it, and find out whether that process is alive."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from explorer import run_folder
from explorer.errors import NotWritable, RunBusy


@contextmanager
def holding(folder: Path, busy: str, next_step: str) -> Iterator[None]:
    """Hold the lock of a folder, which the system frees when the process ends; `busy` is the error if it is taken."""
    import fcntl

    try:
        opened = (folder / run_folder.LOCK).open("w")
    except OSError as error:
        raise NotWritable(f"{folder} cannot be written to: {error.strerror}. {next_step}") from error
    with opened as lock:
        for patience in (0.05,) * 20 + (None,):  # a viewer takes the lock for a moment, to test it
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError as error:
                if patience is None:
                    raise RunBusy(busy) from error
                time.sleep(patience)
        yield


def is_held(folder: Path) -> bool:
    """Whether a process holds the lock of a folder."""
    import fcntl

    try:
        with (folder / run_folder.LOCK).open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def is_same_process(pid: int, born: float) -> bool:
    """Whether the process with this id is the one that began at this time, and runs."""
    now = born_at(pid)
    return now > 0 and abs(now - born) < 1


def born_at(pid: int) -> float:
    """The start time of a process; 0 if there is none."""
    import psutil

    try:
        process = psutil.Process(pid)
        return 0.0 if process.status() == psutil.STATUS_ZOMBIE else float(process.create_time())
    except psutil.Error:
        return 0.0
