"""Share the processors with other programs: compute with fewer threads while others need them.

Threads of torch that wait for one another spin. While other programs compute, such a thread spins through the very
time that the one it waits for needs: a step then takes many times its share. With fewer threads than processors there
is less to wait for. The last bits of a sum depend on the number of threads: where results are compared to the bit, set
OMP_NUM_THREADS, and nothing here is changed.
"""

import math
import os
import sys
import threading
import time

import psutil

INTERVAL = 1.0  # seconds between two measurements
STALE = 20.0  # a longer interval says little about now
BUSY, IDLE = 0.5, 0.25  # processors that others use: above, make room; below, use all again


class ThreadShare:
    """How many threads this process uses, decided anew every second of work."""

    def __init__(self) -> None:
        self._places = _own_processors()
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
                others = (by_all - by_all_before) - (own - own_before)
                self.threads = self._next_to(others / (now - before))
            return self.threads

    @property
    def _least(self) -> int:
        """What is used however busy the others are: half of the processors."""
        return max(1, self.most // 2)

    def _next_to(self, others: float) -> int:
        """The threads while others use so many processors."""
        if others > BUSY:
            return max(self._least, self.most - math.ceil(others - BUSY))
        return self.most if others < IDLE else self.threads

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


def _own_processors() -> list[int]:
    """The numbers of the processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def _load() -> float:
    """How many threads of this machine wanted to compute in the last minute."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0


# it measures first at the start of the process: by the first piece of work, models have been loaded
_share = ThreadShare()
