"""What is being worked on in the background, for every tab of every visitor?

A page asks for work under a key; whoever asks for the same key follows the same job. The thread draws nothing: it
writes to its job, and pages look there. A lane has one worker that takes jobs first in, first out, since two at once
would only halve each other's share of the processor. Measuring does not wait for training, which takes hours, nor
loading for measuring, which takes minutes; what waits for the network has a thread of its own.
"""

from __future__ import annotations

import atexit
import logging
import queue
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from explorer.errors import StrataError
from explorer.progress import Progress, Work
from explorer.training.loop import memory

logger = logging.getLogger(__name__)

Make = Callable[[], Work[Any]]

MEASURING, TRAINING, NETWORK, LOADING = "measuring", "training", "network", "loading"
WAITING, RUNNING, DONE, STOPPED, FAILED = "waiting", "running", "done", "stopped", "failed"


@dataclass(eq=False)
class Job:
    """One piece of work: how far it is, and how it ended."""

    key: str
    title: str
    make: Make
    lane: str = MEASURING
    state: str = WAITING
    progress: Progress = field(default_factory=lambda: Progress("waiting for its turn", 0, 0))
    result: Any = None
    error: str = ""
    details: str = ""
    _stage_started: float = field(default_factory=time.monotonic)
    _stop: threading.Event = field(default_factory=threading.Event)
    _ended: threading.Event = field(default_factory=threading.Event)

    @property
    def live(self) -> bool:
        """Whether it waits or works."""
        return self.state in (WAITING, RUNNING)

    @property
    def stopping(self) -> bool:
        """Whether it was told to stop and is still at its last step."""
        return self.live and self._stop.is_set()

    @property
    def seconds(self) -> float:
        """How long the present stage has taken."""
        return time.monotonic() - self._stage_started

    @property
    def seconds_left(self) -> float | None:
        """A guess from the pace of the present stage; None before there is a pace."""
        progress = self.progress
        if not progress.done:
            return None
        return self.seconds / progress.done * (progress.total - progress.done)

    def ends_within(self, seconds: float) -> bool:
        """Wait a moment for its end: where next to nothing is to be done, no page need tell of it."""
        return self._ended.wait(seconds)

    def stop(self) -> None:
        """End it: at once if it waits, before its next step if it works."""
        with _lock:
            self._stop.set()
            if self.state == WAITING:
                self._end(STOPPED)

    def _run(self) -> None:
        with _lock:
            if not self.live:
                return
            self.state = RUNNING
        work = self.make()
        try:
            while not self._stop.is_set():
                self._advance(next(work))
            work.close()
            self._end(STOPPED)
        except StopIteration as end:
            self.result = end.value
            self._end(DONE)
        except StrataError as trouble:
            self.error = str(trouble)
            self._end(FAILED)
        except Exception as trouble:  # a thread's last chance to say what went wrong
            logger.exception("%s failed", self.title)
            # as text: a traceback that is kept alive keeps the model alive
            self.details = "".join(traceback.format_exception(trouble))
            self.error = f"{type(trouble).__name__}: {trouble}"
            self._end(FAILED)

    def _advance(self, progress: Progress) -> None:
        if progress.stage != self.progress.stage:
            self._stage_started = time.monotonic()
        self.progress = progress

    def _end(self, state: str) -> None:
        self.state = state
        self._ended.set()


_jobs: dict[str, Job] = {}
_queues: dict[str, queue.SimpleQueue[Job]] = {}
_lock = threading.Lock()


def follow(key: str, title: str, make: Make, *, lane: str = MEASURING) -> Job:
    """The job under a key; it is put in the queue if there is none, or started beside it if it waits for a network."""
    with _lock:
        job = _jobs.get(key)
        if job is None:
            job = _jobs[key] = Job(key, title, make, lane)
            if lane == NETWORK:
                _thread(job._run, f"work: {title}")
            else:
                _queue(lane).put(job)
    return job


def find(key: str) -> Job | None:
    """The job under a key, if there is one."""
    return _jobs.get(key)


def in_front(job: Job) -> Job | None:
    """The job that one in the queue waits for."""
    if job.state != WAITING:
        return None
    return next((other for other in list(_jobs.values()) if other.state == RUNNING and other.lane == job.lane), None)


def forget(key: str) -> None:
    """Let a job that has ended be started anew."""
    with _lock:
        job = _jobs.get(key)
        if job and not job.live:
            del _jobs[key]


@atexit.register
def stop_all(patience: float = 15.0) -> None:
    """Stop every job and wait for it: a thread cut off inside torch would abort the whole process."""
    jobs = [job for job in _jobs.values() if job.live]
    for job in jobs:
        job.stop()
    for job in jobs:
        job._ended.wait(patience)


def _queue(lane: str) -> queue.SimpleQueue[Job]:
    """The queue of a lane; whoever asks first starts its worker."""
    if lane not in _queues:
        waiting = _queues[lane] = queue.SimpleQueue()
        if lane == TRAINING:
            memory.one_arena()
        _thread(lambda: _work_off(waiting), f"worker: {lane}")
    return _queues[lane]


def _work_off(waiting: queue.SimpleQueue[Job]) -> None:
    while True:
        waiting.get()._run()


def _thread(target: Callable[[], None], name: str) -> threading.Thread:
    # daemon: a thread that is not would hold the process open at Ctrl-C
    thread = threading.Thread(target=target, name=name, daemon=True)
    thread.start()
    return thread
