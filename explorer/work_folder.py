"""A folder that one process works in and others watch, that of a run or a plan: made whole, held, stopped, deleted.

The process that works in it locks it; the system frees the lock when the process ends. `stop-request` is what a viewer
asks for.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import shutil
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import psutil

from explorer.errors import NotWritable, RunBusy, RunGone
from explorer.places import write_whole, writing

STOP_REQUEST, LOCK = "stop-request", ".lock"  # a viewer's request to stop, and the hold of who works in the folder
KEEP, DISCARD = "keep", "discard"  # what has been done, when it is stopped
STATES = WAITING, RUNNING, FINISHED, STOPPED, FAILED = "waiting", "running", "finished", "stopped", "failed"
INTERRUPTED = "interrupted"  # never written: the state of work whose process has ended
LIVE = (WAITING, RUNNING)
ROOM = "Make room on that disk, or set STRATA_RUNS to a folder that can be written to."
UNTOUCHED = 600.0  # seconds; where nothing can be locked, what is as old is no longer the work of a process
_LEFT = re.compile(r"\.\d+-\d+\.part|\.deleted-.+-\d+")


@dataclass(frozen=True)
class WorkStatus:
    """How far work is, as its process wrote it."""

    state: str = WAITING
    error: str = ""
    details: str = ""
    pid: int = 0
    born: str = ""  # what tells that process from others with its id
    host: str = ""

    @property
    def live(self) -> bool:
        """Whether a process works on it, or will."""
        return self.state in LIVE


Status = TypeVar("Status", bound=WorkStatus)


@dataclass(frozen=True)
class WorkFolder(ABC, Generic[Status]):
    """Work by its folder."""

    folder: Path

    NOUN: ClassVar[str]  # what it is called
    BUSY: ClassVar[str]  # the error if another process works in it

    @property
    def name(self) -> str:
        """The name of the work, which is that of the folder."""
        return self.folder.name

    @abstractmethod
    def status(self) -> Status:
        """How far it is; interrupted if its process has ended."""

    @abstractmethod
    def put(self, status: Status) -> None:
        """Write how far it is, with the id of this process."""

    def check_there(self) -> None:
        """Refuse to write into a folder that is gone."""
        check_there(self.folder, self.NOUN)

    def stop_requested(self) -> str:
        """The request of a viewer to stop: KEEP, DISCARD, or "" for none."""
        try:
            return (self.folder / STOP_REQUEST).read_text(encoding="utf-8").strip()
        except OSError:
            return ""

    def request_stop(self, how: str = KEEP) -> None:
        """Ask the process that works in the folder, whichever it is, to stop within a step."""
        self.check_there()
        write_whole(self.folder / STOP_REQUEST, lambda file: file.write(how.encode()), ROOM)

    def clear_stop_request(self) -> None:
        """Delete the request."""
        with writing(self.folder, ROOM):
            (self.folder / STOP_REQUEST).unlink(missing_ok=True)

    def held(self) -> AbstractContextManager[None]:
        """Lock the folder while a process works in it; the system releases the lock when the process ends."""
        self.check_there()
        return holding(self.folder, self.BUSY.format(self.name), ROOM)

    def delete(self) -> None:
        """Delete the folder and everything in it; an error while work is under way."""
        self.check_ended("deleted")
        self._deleted(self.folder)

    def check_ended(self, what: str) -> None:
        """Refuse what cannot be done to work that is under way; `what` is `deleted` or `renamed`."""
        self.check_there()
        status = self.status()
        if status.live:
            raise RunBusy(f"'{self.name}' is {status.state} and cannot be {what}. Stop it first.")

    def _deleted(self, folder: Path) -> None:
        """Delete the folder, or one inside it: renamed first, since a part of it must not look like the whole."""
        gone = self.folder.with_name(f".deleted-{self.name}-{time.time_ns()}")
        try:
            folder.rename(gone)
        except OSError as error:
            raise NotWritable(f"'{self.name}' cannot be deleted: {error.strerror}. Delete {folder} by hand.") from error
        try:
            with in_use(gone):
                shutil.rmtree(gone)
        except OSError as error:
            raise NotWritable(
                f"'{self.name}' is deleted, but a part of it is left ({error.strerror}). Delete {gone} by hand."
            ) from error


def check_there(folder: Path, noun: str) -> None:
    """Refuse to write into a folder that is gone: it would come back as a husk."""
    if not folder.is_dir():
        raise RunGone(
            f"The {noun} '{folder.name}' is no longer there: it was renamed, moved or deleted. Choose it in the list "
            f"of {noun}s, if it is still there."
        )


def made(parent: Path, names: Iterable[str], fill: Callable[[Path], object]) -> Path | None:
    """Make a folder under the first of these names that is free; None if each was taken meanwhile.

    It is filled elsewhere and renamed into place, so that a viewer never finds a part of it.
    """
    part = parent / f".{os.getpid()}-{time.monotonic_ns()}.part"
    try:
        with writing(parent, ROOM):
            part.mkdir(parents=True)
        with writing(parent, ROOM), in_use(part):
            fill(part)
            for name in names:
                try:
                    part.rename(parent / name)
                    return parent / name
                except OSError as error:
                    if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                        raise
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return None


def collect(home: Path) -> None:
    """Delete what killed processes have left half-made and half-deleted."""
    for path in home.glob(".*"):
        if _LEFT.fullmatch(path.name) and _untouched(path) and not is_in_use(path):
            shutil.rmtree(path, ignore_errors=True)


def _untouched(path: Path) -> bool:
    """Whether a folder was renamed, or an entry of it changed, long ago or by a clock that has been set back since."""
    try:
        return abs(time.time() - path.stat().st_ctime) >= UNTOUCHED
    except OSError:
        return False


def signed(status: Status, **more: Any) -> Status:
    """A status with what tells others whether this process, which writes it, still runs."""
    pid = os.getpid()
    return replace(status, pid=pid, born=own_birth(pid), host=socket.gethostname(), **more)


@contextmanager
def holding(folder: Path, busy: str, next_step: str) -> Iterator[None]:
    """Hold the lock of a folder, which the system frees when the process ends; `busy` is the error if it is taken."""
    with writing(folder, next_step):
        opened = (folder / LOCK).open("w")
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
    return is_in_use(folder / LOCK)


@contextmanager
def in_use(folder: Path) -> Iterator[None]:
    """Lock a folder that is being made or deleted, without a file in it; some network disks cannot."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def is_in_use(path: Path) -> bool:
    """Whether a process has locked a folder, which it makes or deletes, or a file."""
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
