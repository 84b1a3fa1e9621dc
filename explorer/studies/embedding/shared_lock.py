"""Lock a folder of vectors while processes that belong together write to it."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from explorer.data.vectors.manifest import LOCK, ROOM
from explorer.errors import NotWritable, RunBusy

if TYPE_CHECKING:
    from explorer.training.loop.processes import World

_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS)  # some network disks have none


@contextmanager
def held(folder: Path, world: World) -> Iterator[None]:
    """Lock the folder for the processes of a world; the system releases the lock when the last of them ends.

    The main process asks for a lock of its own, which it gets only if no process of an earlier start is left. All of
    them then share it.
    """
    import fcntl

    try:
        folder.mkdir(parents=True, exist_ok=True)
        opened = (folder / LOCK).open("a+")
    except OSError as error:
        raise NotWritable(f"{folder} cannot be written to: {error.strerror or error}. {ROOM}") from error
    with opened as lock:
        if world.main:
            _take(lock, fcntl.LOCK_EX | fcntl.LOCK_NB, folder)
        world.wait()
        if world.size > 1:
            _take(lock, fcntl.LOCK_SH, folder)
        yield


def _take(lock: IO[str], kind: int, folder: Path) -> None:
    import fcntl

    try:
        fcntl.flock(lock, kind)
    except BlockingIOError as error:
        raise RunBusy(
            f"Another process writes vectors to {folder}. Wait until it ends, stop it, or choose another folder."
        ) from error
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise NotWritable(f"{folder} cannot be locked: {error.strerror or error}. {ROOM}") from error
