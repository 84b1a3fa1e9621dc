"""Share the machine with other programs: fewer threads while others compute, memory given back after training.

Threads of torch that wait for one another spin. While other programs compute, such a thread spins through the very
time that the one it waits for needs: a step then takes many times its share. With fewer threads than processors there
is less to wait for. The last bits of a sum depend on the number of threads: where results are compared to the bit, set
OMP_NUM_THREADS, and nothing here is changed.

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
from collections.abc import Iterator
from contextlib import contextmanager

import psutil

INTERVAL = 1.0  # seconds between two measurements
STALE = 20.0  # a longer interval says little about now
BUSY, IDLE = 0.5, 0.25  # processors that others use: above, make room; below, use all again
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


def adapt() -> None:
    """Between two pieces of work: set the number of threads that torch uses in this thread."""
    torch = sys.modules.get("torch")  # before it is imported, nothing computes with it
    if torch is None or "OMP_NUM_THREADS" in os.environ:
        return
    if not (hasattr(torch, "get_num_threads") and hasattr(torch, "set_num_threads")):
        return  # another thread is importing it
    wanted = _share.decide()
    if torch.get_num_threads() != wanted:
        torch.set_num_threads(wanted)


def _load() -> float:
    """How many threads of this machine wanted to compute in the last minute."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0


@contextmanager
def kept_while_training() -> Iterator[None]:
    """Keep freed memory in the process within this context; return it to the system afterwards."""
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
        give_back()  # while older objects are still excluded: only what training left is looked at
        gc.unfreeze()
        if glibc:  # glibc stops adapting a limit once it is set, so set it to where it would be by now
            glibc.mallopt(_MMAP_MAX, 65536)
            glibc.mallopt(_MMAP_THRESHOLD, 32 * 2**20)
            glibc.mallopt(_TRIM_THRESHOLD, 64 * 2**20)
            glibc.mallopt(_TOP_PAD, 128 * 2**10)


def one_arena() -> None:
    """Make a training thread share the main arena, since the arenas of threads hold at most 64 MB."""
    glibc = _glibc()
    if glibc:
        glibc.mallopt(_ARENA_MAX, 1)


def give_back() -> None:
    """Return unused memory to the system and to the GPU."""
    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    glibc = _glibc()
    if glibc:
        glibc.malloc_trim(0)


def _glibc() -> ctypes.CDLL | None:
    """The C library, if it is glibc."""
    if not sys.platform.startswith("linux"):
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "mallopt") and hasattr(library, "malloc_trim") else None


# it measures first at the start of the process: by the first piece of work, models have been loaded
_share = ThreadShare()
