"""Share the machine with other programs: fewer threads or sleeping ones while others compute, and memory given back.

Threads of torch that wait for one another spin. While other programs compute, such a thread spins through the very
time that the one it waits for needs: a step then takes many times its share. Two things help. Threads that wait can
sleep at once, which takes up to twice as long on an idle machine, so they do only while others compute. And with fewer
threads there is less to wait for; but the last bits of a sum depend on their number. So a training keeps its number,
and so does everything where OMP_NUM_THREADS states one; all other work adapts it. Niceness is left alone: it takes more
from a training than it gives to others (docs/results.md, "Response time during a run").

Every step of a training frees its gradients and allocates as much again. By default glibc returns large blocks to the
system, which zeroes each page before it is used again: half the time of a step if the weights are large.
"""

import ctypes
import gc
import math
import os
import sys
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import TypeVar

import psutil

capturing = threading.Lock()  # held while work of a GPU is captured: torch can give back no memory then

Part = TypeVar("Part")
Result = TypeVar("Result")

INTERVAL = 1.0  # seconds between two measurements
STALE = 20.0  # a longer interval says little about now
BUSY, IDLE = 0.5, 0.25  # processors that others use: above, make room; below, use all again
STATED = "OMP_NUM_THREADS"  # the variable that states how many threads to use
MOST_THREADS = 1024  # that may be stated
_GRAIN = 32_768  # numbers that torch gives to a thread at least (at::internal::GRAIN_SIZE)
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD, _MMAP_MAX, _ARENA_MAX = -1, -2, -3, -4, -8  # the names in malloc.h


class ThreadShare:
    """How many threads this process uses, decided anew every second of work."""

    def __init__(self) -> None:
        # the numbers of the processors that this process may use
        has_own = hasattr(os, "sched_getaffinity")
        self._places = sorted(os.sched_getaffinity(0)) if has_own else list(range(os.cpu_count() or 1))
        self.most = len(self._places)
        self.threads = self.most
        self._last = self._measured(time.monotonic())
        self._lock = threading.Lock()

    def decide(self) -> int:
        """The number of threads to use now."""
        with self._lock:
            now = time.monotonic()
            before, by_all_before, own_before = self._last
            if now - before < INTERVAL:
                return self.threads
            self._last = _, by_all, own = self._measured(now)
            if now - before > STALE:
                self.threads = self._least if _load() > self.most * BUSY else self.most
            else:
                others = ((by_all - by_all_before) - (own - own_before)) / (now - before)  # processors that they use
                if others > BUSY:
                    self.threads = max(self._least, self.most - math.ceil(others - BUSY))
                elif others < IDLE:
                    self.threads = self.most
            return self.threads

    @property
    def shared(self) -> bool:
        """Whether other programs compute too, by the last decision."""
        return self.threads < self.most

    @property
    def _least(self) -> int:
        """What is used however busy the others are: half of the processors."""
        return max(1, self.most // 2)

    def _measured(self, at: float) -> tuple[float, float, float]:
        """The time, and the seconds that processors have worked so far: for everybody, and for this process."""
        each = psutil.cpu_times(percpu=True)
        work = (each[place] for place in self._places if place < len(each))
        by_all = sum(one.user + one.system + getattr(one, "nice", 0.0) for one in work)
        own = psutil.Process().cpu_times()
        return at, by_all, own.user + own.system


class Sleepers:
    """Threads that do nothing, whose number makes those of torch sleep while they wait.

    GNU's OpenMP, torch's on Linux, lets a thread that waits turn 300,000 times before it sleeps, but 100 times if the
    process has more of its threads than processors (libgomp: `do_spin` in wait.h, `initialize_env` in env.c). Nothing
    else changes that once torch is loaded; GOMP_SPINCOUNT is read before.
    """

    def __init__(self, number: int) -> None:
        self._number = number
        self._end: threading.Event | None = None
        self._lock = threading.Lock()

    def there(self, wanted: bool) -> None:
        """Make them, or let them end."""
        with self._lock:
            if wanted == (self._end is not None):
                return
            if self._end is not None:
                self._end.set()
                self._end = None
                return
            self._end, ready = threading.Event(), threading.Event()
            # a team of OpenMP belongs to the thread that began it, and ends with it
            threading.Thread(target=self._hold, args=(self._end, ready), name="sleepers", daemon=True).start()
            ready.wait()

    def _hold(self, end: threading.Event, ready: threading.Event) -> None:
        import torch

        try:
            before = torch.get_num_threads()
            torch.set_num_threads(self._number)
            torch.zeros(self._number * _GRAIN).add_(1)
            torch.set_num_threads(before)  # a new thread begins with the number that was set last in any
        finally:
            ready.set()
        end.wait()


class _Fixed(threading.local):
    """Whether this thread does work whose number of threads is fixed."""

    now = False


def adapt() -> None:
    """Between two pieces of work: set the number of threads that torch uses in this thread."""
    torch = sys.modules.get("torch")  # before it is imported, nothing computes with it
    if torch is None or not (hasattr(torch, "get_num_threads") and hasattr(torch, "set_num_threads")):
        return  # another thread is importing it
    now = torch.get_num_threads()
    wanted = _give_way(now)
    if wanted != now and not _fixed.now and STATED not in os.environ:
        torch.set_num_threads(wanted)


def at_start() -> int:
    """The number of threads for work that keeps it: what OMP_NUM_THREADS says, else that of the processors."""
    import torch

    if STATED not in os.environ:
        return _share.most
    stated = os.environ[STATED].partition(",")[0].strip()  # then come those of threads within threads
    known = stated.isdecimal() and allowed(int(stated))
    return int(stated) if known else torch.get_num_threads()  # MKL lets torch begin with no more than there are cores


def allowed(threads: object) -> bool:
    """Whether work may state this number of threads."""
    return type(threads) is int and 1 <= threads <= MOST_THREADS


def in_effect() -> int:
    """How many threads torch uses in this thread; OMP_THREAD_LIMIT may allow fewer than were set."""
    import torch

    limit = os.environ.get("OMP_THREAD_LIMIT", "")
    return min(torch.get_num_threads(), int(limit)) if limit.isdecimal() and int(limit) else torch.get_num_threads()


def with_threads(number: int, work: Generator[Part, None, Result]) -> Generator[Part, None, Result]:
    """Work that computes with this number of threads of torch, whatever others do; between its parts nothing changes.

    The number is that of the thread that computes (of OpenMP, MKL and oneDNN): other threads keep theirs.
    """
    try:
        while True:
            with _with_threads(number):
                try:
                    part = next(work)
                except StopIteration as end:
                    result: Result = end.value
                    return result
            yield part
    finally:
        with _with_threads(number):  # a training that is stopped saves what it has
            work.close()


@contextmanager
def _with_threads(number: int) -> Iterator[None]:
    import torch

    before, fixed = torch.get_num_threads(), _fixed.now
    if number != before:
        torch.set_num_threads(number)
    _give_way(number)
    _fixed.now = True
    try:
        yield
    finally:
        _fixed.now = fixed
        if torch.get_num_threads() != before:
            torch.set_num_threads(before)


def _give_way(threads: int) -> int:
    """Make threads that wait sleep while other programs compute; the number of threads that makes room for these."""
    wanted = _share.decide()
    if not _share.shared:
        _sleepers.there(False)
    elif threads > 1 and sys.platform.startswith("linux"):
        _sleepers.there(True)
    return wanted


def _load() -> float:
    """How many threads of this machine wanted to compute in the last minute."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0


@contextmanager
def kept_while_training() -> Iterator[None]:
    """Keep freed memory in the process within this context; return it to the system afterwards."""
    global _kept
    _kept = True
    gc.collect()
    gc.freeze()  # exclude existing objects from collection, which would block the pages for half a second
    glibc = _glibc()
    if glibc:
        glibc.mallopt(_MMAP_MAX, 0)
        glibc.mallopt(_TRIM_THRESHOLD, 2**31 - 1)
        glibc.mallopt(_TOP_PAD, 64 * 2**20)
    try:
        yield
    finally:
        _kept = False
        give_back()  # while older objects are still excluded: only what training left is looked at
        gc.unfreeze()
        if glibc:  # glibc stops adapting a limit once it is set, so set it to where it would be by now
            glibc.mallopt(_MMAP_MAX, 65536)
            glibc.mallopt(_MMAP_THRESHOLD, 32 * 2**20)
            glibc.mallopt(_TRIM_THRESHOLD, 64 * 2**20)
            glibc.mallopt(_TOP_PAD, 128 * 2**10)


def one_arena() -> None:
    """Make threads share the main arena: what one of them has freed, another one uses.

    The arena of a thread holds at most 64 MB, too few for a training. And it keeps gaps of its own: in an app with a
    thread for every page and job, they come to hundreds of MB.
    """
    glibc = _glibc()
    if glibc:
        glibc.mallopt(_ARENA_MAX, 1)


def give_back() -> None:
    """Return unused memory to the system and to the GPU, also what only a collection finds."""
    import torch

    gc.collect()
    if torch.cuda.is_available():
        with capturing:
            torch.cuda.empty_cache()
    trim()


def trim() -> None:
    """Return memory that was freed to the system, a few ms; glibc alone keeps most of it for what comes next.

    Not while a training keeps it, which would ask for it again.
    """
    glibc = _glibc()
    if glibc and not _kept:
        glibc.malloc_trim(0)


def _glibc() -> ctypes.CDLL | None:
    """The C library, if it is glibc."""
    if not sys.platform.startswith("linux"):
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "mallopt") and hasattr(library, "malloc_trim") else None


# it measures first at the start of the process: by the first piece of work, models have been loaded
_share = ThreadShare()
_sleepers = Sleepers(_share.most + 1)
_fixed = _Fixed()
_kept = False  # whether a training keeps what it frees
