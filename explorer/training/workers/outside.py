"""Train runs outside this process, several at once, by watching their folders: ask workers to stop, replace lost ones.

A worker is another process of this machine, or a job of a cluster. It takes the command that resumes a run, so the run
is a folder like any other: it is listed and can be stopped while it trains, and goes on if this process is killed.
"""

from __future__ import annotations

import os
import socket
import sys
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Protocol

from explorer.errors import RunError
from explorer.progress import Phase, Progress, Work
from explorer.training.record import runs
from explorer.training.record import status as statuses

POLL_EVERY = 0.2  # seconds between two readings of the status of a run that is trained on this machine
LOST = "{}. Its worker was lost: the training goes on with another one, from its last saved state."


class Worker(Protocol):
    """What trains one run."""

    def ended(self) -> bool:
        """Whether it trains no more."""

    def ask_to_stop(self) -> None:
        """Ask it to save the run and to end, without waiting for it."""

    def wait(self) -> None:
        """Wait until it has ended."""

    def trouble(self) -> str:
        """Why it ended before its run did; empty if all went well."""


class Outside(ABC):
    """Train runs by workers; what is under way is stopped together."""

    pause = POLL_EVERY
    again = 0  # how often in a row a run is given to another worker without a new step in between

    def __init__(self) -> None:
        self._under_way: list[Worker] = []
        self._stopping = False

    @abstractmethod
    def begin(self, run: runs.Run) -> Worker:
        """Begin to train a run, which is stopped."""

    def train(self, run: runs.Run) -> Work[runs.Run | None]:
        """Train a run, or go on with it; closed before the end, it is saved."""
        lost, last = 0, run.status().step
        while trouble := (yield from self._by_one_worker(run)):
            step = run.status().step
            lost, last = (lost + 1 if step <= last else 1), max(step, last)
            if lost > self.again:
                raise RunError(trouble)
            yield Progress(Phase.STARTING, 0, 0, note=LOST.format(trouble.rstrip(".")))
        return run

    def _by_one_worker(self, run: runs.Run) -> Work[str]:
        """Train a run until it or its worker ends; why its worker was lost, or nothing if it was not."""
        # the command puts the run in the queue itself, and refuses one that waits already
        before = statuses.write(run.folder, replace(run.status(), state=statuses.STOPPED))
        worker = self.begin(run)
        self._under_way.append(worker)
        try:
            while not worker.ended() or trained_elsewhere(run):
                yield progress_of(run, self.pause)
        finally:
            if not worker.ended():
                self._stopping = True
                for one in tuple(self._under_way):  # so that they save their runs at the same time
                    one.ask_to_stop()
                worker.wait()
            self._under_way.remove(worker)
        status = run.status()
        if self._stopping or is_over(status, before):
            if status.state == statuses.FAILED:
                raise RunError(status.error)
            return ""
        return worker.trouble()


def command(run: runs.Run) -> list[str]:
    """The arguments of Python that resume a run."""
    return ["-m", "explorer", "train", "--resume", run.name, "--out", str(run.folder.absolute().parent)]


def python(run: runs.Run) -> list[str]:
    """The command that resumes a run with this Python."""
    return [sys.executable, *command(run)]


def is_over(status: statuses.Status, before: statuses.Status) -> bool:
    """Whether a worker has written that the run ended, since the status of before."""
    return status.state in (statuses.FINISHED, statuses.STOPPED, statuses.FAILED) and status.beat != before.beat


def progress_of(run: runs.Run, pause: float) -> Progress:
    """How far a run is that is trained outside this process."""
    status = run.status()
    phase = status.phase or (Phase.SAVING if status.state == statuses.FINISHED else Phase.STARTING)
    return Progress(phase, status.step, status.total, about=status.about, pause=pause)


def trained_elsewhere(run: runs.Run) -> bool:
    """Whether another process trains a run, or will."""
    status = run.status()
    return status.live and (status.pid, status.host) != (os.getpid(), socket.gethostname())


def followed(run: runs.Run) -> Work[None]:
    """Wait until no other process trains a run, such as a worker that outlived who began it."""
    while trained_elsewhere(run):
        yield progress_of(run, POLL_EVERY)
