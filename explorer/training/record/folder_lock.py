"""Lock a folder for the process that works in it, and find out whether that process is alive."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
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
    return _is_locked(folder / run_folder.LOCK)


@contextmanager
def in_use(folder: Path) -> Iterator[None]:
    """Lock a folder that is being made or deleted, without a file in it; some network disks cannot."""
    import fcntl

    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def is_in_use(folder: Path) -> bool:
    """Whether a process makes or deletes a folder."""
    return _is_locked(folder)


def _is_locked(path: Path) -> bool:
    import fcntl

    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(handle)
    return False


def is_same_process(pid: int, born: str) -> bool:
    """Whether the process with this id is the one that was born so, and runs."""
    return bool(born) and born == birth(pid)


@cache
def own_birth(pid: int) -> str:
    """`birth` of this process, which stays what it is; by its id, since a fork is another process."""
    return birth(pid)


def birth(pid: int) -> str:
    """What tells a process from others that had its id before; "" if there is none.

    The start of the machine by its id, and the start of the process counted from there: a time of the day would change
    whenever the clock is set.
    """
    import psutil

    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return ""
        boot = Path("/proc/sys/kernel/random/boot_id")
        if not boot.exists():  # not Linux: the system itself notes when a process started
            return str(process.create_time())
        ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
        return f"{boot.read_text().strip()} {ticks}"
    except (psutil.Error, OSError):
        return ""
