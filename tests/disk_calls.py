"""Watch every call by which a program changes the files below a folder, and act before it or in the middle of it."""

from __future__ import annotations

import builtins
import errno
import io
import os
import re
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import safetensors.torch
from safetensors import SafetensorError

WRITE = "write"
KINDS = ("mkdir", "rename", "unlink", "rmdir", "open", WRITE)  # `open` before a file is opened to be written
NEVER = -1
_MADE_UP = re.compile(r"tmp\w+|\d+-\d+(?=\.part)")  # parts of names that differ each time
_NAMED = {"replace": "rename", "remove": "unlink"}
_WRITES = os.O_WRONLY | os.O_RDWR
_open = os.open


class Watch:
    """Counts the calls of some kinds, and acts at one of them, or from it on; this one lets everything pass."""

    kinds = frozenset(KINDS)

    def __init__(self, folder: Path, at: int = NEVER) -> None:
        self.folder, self.at, self.counted = os.path.realpath(folder), at, 0
        self.calls: list[tuple[str, str]] = []

    def call(self, kind: str, path: Path, handle: int = -1) -> None:
        """Take note of a call; `handle` is that of a file that is open."""
        self.calls.append((kind, _MADE_UP.sub("…", os.path.relpath(path, self.folder))))
        if kind in self.kinds:
            self.counted += 1
            if NEVER < self.at < self.counted:
                self.act(kind, path, handle)

    def act(self, kind: str, path: Path, handle: int) -> None:
        """What happens at the call, and at every later one."""

    @classmethod
    def points(cls, calls: Sequence[Sequence[str]]) -> list[str]:
        """The calls that this watch counts."""
        return [f"{kind} {path}" for kind, path in calls if kind in cls.kinds]


class Killed(Watch):
    """This process is killed before a call, or when a part of a line is written to a file."""

    def act(self, kind: str, path: Path, handle: int) -> None:
        if kind == WRITE:
            os.write(handle, b'{"number": 1, "seed": 1, "st')
        os.kill(os.getpid(), signal.SIGKILL)


class FullDisk(Watch):
    """Nothing can be made or written any more; what is there can be deleted."""

    kinds = frozenset({"mkdir", "rename", WRITE})

    def act(self, kind: str, path: Path, handle: int) -> None:
        if kind != WRITE:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        full = _open("/dev/full", os.O_WRONLY)
        os.dup2(full, handle)
        os.close(full)


class ReadOnlyDisk(Watch):
    """Nothing can be changed any more."""

    kinds = frozenset(KINDS) - {WRITE}

    def act(self, kind: str, path: Path, handle: int) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))


@contextmanager
def watched(watch: Watch) -> Iterator[None]:
    """Report to a watch every call that changes something below its folder."""
    calls = _Calls(watch)
    with ExitStack() as patches:
        for name in ("mkdir", "rename", "replace", "unlink", "remove", "rmdir"):
            patches.enter_context(mock.patch.object(os, name, calls.of_a_name(name, getattr(os, name))))
        opening = calls.opening(builtins.open)
        for module in (builtins, io):
            patches.enter_context(mock.patch.object(module, "open", opening))
        patches.enter_context(mock.patch.object(os, "open", calls.opening(os.open)))
        library = safetensors.torch
        patches.enter_context(mock.patch.object(library, "serialize_file", calls.saving(library.serialize_file)))
        yield


class _Calls:
    """The system's functions, which report to a watch first."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def _inside(self, path: Any, of: int | None = None) -> Path | None:
        if isinstance(path, int):
            return None
        named = path if of is None else Path(f"/proc/self/fd/{of}").readlink() / path
        found = os.path.realpath(os.fsdecode(named))
        home = self._watch.folder
        return Path(found) if found == home or found.startswith(home + os.sep) else None

    def of_a_name(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        kind = _NAMED.get(name, name)

        def call(path: Any, *arguments: Any, **options: Any) -> Any:
            found = self._inside(path, options.get("dir_fd"))
            if found is not None and found.exists() != (kind == "mkdir"):  # else it changes nothing
                self._watch.call(kind, found)
            return real(path, *arguments, **options)

        return call

    def opening(self, real: Callable[..., Any]) -> Callable[..., Any]:
        """Of files by a mode, and of handles by flags."""

        def call(path: Any, how: Any = "r", *arguments: Any, **options: Any) -> Any:
            writes = how & _WRITES if isinstance(how, int) else set(how) & set("wax+")
            found = self._inside(path, options.get("dir_fd")) if writes else None
            if found is None:
                return real(path, how, *arguments, **options)
            self._watch.call("open", found)
            file = real(path, how, *arguments, **options)
            self._watch.call(WRITE, found, file if isinstance(file, int) else file.fileno())
            return file

        return call

    def saving(self, real: Callable[..., Any]) -> Callable[..., Any]:
        """The writer of safetensors opens its files itself, and raises its own errors."""

        def call(tensors: Any, path: Any, *arguments: Any, **options: Any) -> Any:
            found = self._inside(path)
            if found is None:
                return real(tensors, path, *arguments, **options)
            try:
                self._watch.call("open", found)
                handle = _open(found, os.O_WRONLY | os.O_CREAT)
                try:
                    self._watch.call(WRITE, found, handle)
                    os.write(handle, b"\0")
                finally:
                    os.close(handle)
            except OSError as error:
                raise SafetensorError(f"I/O error: {error.strerror} (os error {error.errno})") from error
            return real(tensors, path, *arguments, **options)

        return call
