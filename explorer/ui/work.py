"""What is being worked on in the background, for every tab of every visitor?

A page asks for work under a key; whoever asks for the same key follows the same job. The thread never calls
Streamlit: it writes to its job, and pages look there. One job works at a time, the others wait their turn, since
two would only halve each other's share of the processor.
"""

from __future__ import annotations

import atexit
import logging
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from explorer.errors import StrataError
from explorer.progress import Progress, Work

logger = logging.getLogger(__name__)

Make = Callable[[], Work[Any]]

WAITING, RUNNING, DONE, STOPPED, FAILED = "waiting", "running", "done", "stopped", "failed"


@dataclass
class Job:
    """One piece of work: how far it is, and how it ended."""

    key: str
    title: str
    state: str = WAITING
    progress: Progress = field(default_factory=lambda: Progress("waiting for its turn", 0, 0))
    error: str = ""
    details: str = ""
    _stage_started: float = field(default_factory=time.monotonic)
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    @property
    def live(self) -> bool:
        """Whether it waits or works."""
        return self.state in (WAITING, RUNNING)

    @property
    def seconds_left(self) -> float | None:
        """A guess from the pace of the present stage; None before there is a pace."""
        done, total = self.progress.done, self.progress.total
        if not done:
            return None
        return (time.monotonic() - self._stage_started) / done * (total - done)

    def stop(self) -> None:
        """End it before its next step."""
        self._stop.set()

    def _advance(self, progress: Progress) -> None:
        if progress.stage != self.progress.stage:
            self._stage_started = time.monotonic()
        self.progress = progress

    def _run(self, make: Make) -> None:
        while not _turn.acquire(timeout=0.2):
            if self._stop.is_set():
                self.state = STOPPED
                return
        try:
            self.state = RUNNING
            self._work(make())
        finally:
            _turn.release()

    def _work(self, work: Work[Any]) -> None:
        try:
            for progress in work:
                self._advance(progress)
                if self._stop.is_set():
                    work.close()
                    self.state = STOPPED
                    return
            self.state = DONE
        except StrataError as trouble:
            self.error, self.state = str(trouble), FAILED
        except Exception as trouble:
            logger.exception("%s failed", self.title)
            # as text: a traceback that is kept alive keeps the model alive
            self.details = "".join(traceback.format_exception(trouble))
            self.error, self.state = f"{type(trouble).__name__}: {trouble}", FAILED


_jobs: dict[str, Job] = {}
_jobs_lock = threading.Lock()
_turn = threading.Lock()


def follow(key: str, title: str, make: Make) -> Job:
    """The job under a key; it is started if there is none."""
    with _jobs_lock:
        job = _jobs.get(key)
        if job is None:
            job = _jobs[key] = Job(key, title)
            # daemon: a thread that is not would hold the process open at Ctrl-C
            job._thread = threading.Thread(target=job._run, args=(make,), name=f"work: {title}", daemon=True)
            job._thread.start()
    return job


def find(key: str) -> Job | None:
    """The job under a key, if there is one."""
    return _jobs.get(key)


def forget(key: str) -> None:
    """Let a job that has ended be started anew."""
    with _jobs_lock:
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
        if job._thread:
            job._thread.join(patience)
