"""Try cases in limited processes: a case succeeds or ends in one line of a StrataError; anything else is a failure.

A kind of case is a module of this folder with `attempt(seed, folder, place)`, which tries one, and maybe
`prepare(folder)`, which makes what all its cases share. A seed and a kind give the same case again.
"""

from __future__ import annotations

import faulthandler
import importlib
import math
import multiprocessing
import os
import resource
import sys
import tempfile
import time
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from multiprocessing.connection import Connection
from pathlib import Path
from types import ModuleType

import psutil

from explorer.errors import LONGEST, StrataError
from tests import processes

KINDS = (
    "data_files", "model_folders", "recipes", "run_folders", "addresses", "results",
    "written_tables", "vectors", "commands", "plans", "tiny_texts",
)  # fmt: skip
SECONDS = 10.0  # of the processor, for a case: on a busy machine it takes longer
WAITING = 60.0  # seconds, for a case that waits for something
STARTING = 60.0  # seconds, for the imports of a process
MEMORY = 4 * 2**30  # bytes that a process may take beyond what its libraries do
_EACH = 200  # cases of a process
_STATE = {"STRATA_CACHE": "cache", "STRATA_RUNS": "runs", "STRATA_DATA": "data"}


@dataclass(frozen=True)
class Case:
    """What became of a case; `fault` is empty if it is as it should be."""

    seed: int
    fault: str
    refused: bool = False


class Fault(Exception):
    """An outcome that is neither a success nor an error in one line."""


@contextmanager
def may_be_refused() -> Iterator[None]:
    """Allow what is done to end in a StrataError of one short line."""
    try:
        yield
    except StrataError as error:
        check_line(str(error))


def check_line(message: str) -> None:
    """Refuse a message that is long, has several lines, or cannot be printed."""
    if len(message) > LONGEST or len(message.splitlines()) > 1 or not message:
        raise Fault(f"a message of {len(message)} characters in {len(message.splitlines())} lines: {message[:300]!r}")
    message.encode()


def tried(kind: str, seeds: Iterable[int], folder: Path) -> Iterator[Case]:
    """Try the cases of some seeds, in order, in one process after the other; the first prepares `folder`."""
    left = iter(seeds)
    while some := list(islice(left, _EACH)):
        while some:
            for case in _in_a_process(kind, some, folder):
                some.remove(case.seed)
                yield case


def _in_a_process(kind: str, seeds: Sequence[int], folder: Path) -> Iterator[Case]:
    """Try cases until all are tried, or one takes the process with it."""
    ours, theirs = multiprocessing.get_context("forkserver").Pipe()
    child = processes.process(_work, theirs, kind, list(seeds), folder, folder / "stderr.txt")
    theirs.close()
    try:
        yield from _answers(ours, psutil.Process(child.pid), list(seeds))
    finally:
        child.kill()
        child.join()


def _answers(ours: Connection, child: psutil.Process, seeds: Sequence[int]) -> Iterator[Case]:
    for seed in (None, *seeds):  # None: it is about to begin
        try:
            late = _late(ours, child, *((STARTING, STARTING) if seed is None else (SECONDS, WAITING)))
            if late:
                yield Case(seeds[0] if seed is None else seed, late)
                return
            fault, refused = ours.recv()
        except EOFError:
            yield Case(seeds[0] if seed is None else seed, "the process died")
            return
        if seed is not None:
            yield Case(seed, fault, refused)


def _late(ours: Connection, child: psutil.Process, working: float, waiting: float) -> str:
    """Wait for an answer; what took too long, if it did."""
    began, end = math.nan, time.monotonic() + waiting
    while not ours.poll(0.2):  # an answer may be there although the process has already ended
        used = _used(child)
        began = used if math.isnan(began) else began
        if used - began > working:
            return f"the process took longer than {working:g} s of the processor"
        if time.monotonic() > end:
            return f"the process took longer than {waiting:g} s"
    return ""


def _used(child: psutil.Process) -> float:
    """Seconds of the processor so far; not a number if the process has ended, which its end of the pipe tells."""
    try:
        times = child.cpu_times()
    except psutil.Error:
        return math.nan
    return float(times.user + times.system)


def _work(theirs: Connection, kind: str, seeds: Sequence[int], folder: Path, stderr: Path) -> None:
    """Try cases in this process, and send what became of each."""
    for name, place in _STATE.items():
        os.environ[name] = str(folder / place)
    os.environ["HF_HUB_OFFLINE"] = "1"
    module = importlib.import_module(f"tests.fuzz.{kind}")
    mark = folder / f"{kind} is prepared"
    if not mark.exists():
        if hasattr(module, "prepare"):
            module.prepare(folder)
        mark.touch()
    _limit(stderr)
    theirs.send(("", False))
    for seed in seeds:
        with tempfile.TemporaryDirectory(dir=folder) as place:
            theirs.send(_outcome(module, seed, folder, Path(place)))


def _outcome(module: ModuleType, seed: int, folder: Path, place: Path) -> tuple[str, bool]:
    """What is wrong with a case, which is empty if nothing is, and whether it was refused."""
    try:
        try:
            module.attempt(seed, folder, place)
        except StrataError as error:
            check_line(str(error))
            return "", True
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001  a panic of Rust is no Exception
        where = traceback.extract_tb(error.__traceback__)
        last = next((frame for frame in reversed(where) if "/explorer/" in frame.filename), where[-1])
        name = f"{Path(last.filename).name}:{last.lineno}"
        return f"{type(error).__name__} after {name}: {' '.join(ascii(str(error)).split())[:300]}", False
    return "", False


def _limit(stderr: Path) -> None:
    sys.stdout.flush()
    with stderr.open("w") as file:  # panics and warnings
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    faulthandler.enable()
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, now + MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
