"""Read and write the status of a run: a small file that the trainer rewrites and every viewer reads."""

from __future__ import annotations

import math
import socket
import time
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from explorer import places, run_folder, typed_json, work_folder
from explorer.encoding.load.hardware import DeviceMemory
from explorer.measuring.comparing.learned_facts import Learned
from explorer.measuring.scores.verdict import RunVerdict
from explorer.progress import Phase
from explorer.training.loop import measured_facts
from explorer.training.record.run_facts import RunFacts, learned

WAITING, RUNNING, FINISHED, STOPPED, FAILED = work_folder.STATES
INTERRUPTED, LIVE = work_folder.INTERRUPTED, work_folder.LIVE
# a process on another machine counts as ended after this silence; one that trains writes more often
SILENCE = 120.0  # seconds
RUN = "run"
# the last beat of a run elsewhere, and our monotonic time when it was new
_last_beats: dict[Path, tuple[float, float]] = {}


@dataclass(frozen=True)
class RunPosition(work_folder.WorkStatus):
    """How far a run is: its phase, its step and seed, the dev scores of its best step, and its time."""

    phase: Phase | None = None  # what it does now, and the name of what that is about
    about: str = ""
    done: int = 0  # of that phase
    of: int = 0
    step: int = 0
    total: int = 0
    stage: int | None = None  # the one that is trained now, from 1; None in a run without stages
    seed: int = 0  # the one that is trained now
    seed_number: int = 1  # the position of that seed, from 1
    seeds: int = 1
    since_step: int = 0  # the step and the seconds at which this process began to train: its pace counts from there
    since: float | None = None
    base: float | None = None  # dev score of the base under its model default
    best: float | None = None  # the dev score when the best step was evaluated, and that step
    best_step: int | None = None
    seconds: float = 0.0  # of work, over all processes of the run
    device_memory: DeviceMemory | None = None  # of the GPU that it trains on, now

    @property
    def steps_a_second(self) -> float | None:
        """Steps per second of this process."""
        if self.since is None:
            return None
        steps, seconds = self.step - self.since_step, self.seconds - self.since
        return steps / seconds if steps > 0 and seconds > 0 else None

    @property
    def seconds_left(self) -> float | None:
        """The seconds left at that pace, for all seeds."""
        pace = self.steps_a_second
        if pace is None or not self.total:
            return None
        return (self.total - self.step + (self.seeds - self.seed_number) * self.total) / pace


@dataclass(frozen=True)
class Status(RunPosition):
    """The status of a run."""

    results: tuple[measured_facts.SeedScores, ...] = ()  # of each seed that is done
    verdict: RunVerdict | None = None  # the tuned model compared with its base; the base's scores alone until the end
    facts: RunFacts = field(default_factory=RunFacts)
    beat: float = 0.0  # when it was written, by the clock of its host

    @property
    def scored_elsewhere(self) -> set[str]:
        """The names of the sets that it was scored on, but not trained for."""
        return {one.name for one in self.verdict.elsewhere} if self.verdict else set()

    @property
    def frozen(self) -> measured_facts.FrozenClasses | None:
        """The test rows of the saved model beside those of its base; None if it has none, or is not finished."""
        scored = [(score, one) for one in self.results if (score := one.selection_score) is not None]
        if self.state != FINISHED or not scored:
            return None
        return max(scored, key=lambda one: one[0])[1].frozen

    @property
    def learned(self) -> Learned:
        """What the run learned, by its held-out probe packs and its test set."""
        return learned(self.facts, self.verdict or RunVerdict())

    def as_json(self) -> dict[str, Any]:
        """The status as the file holds it."""
        parts = {
            "results": [one.as_json() for one in self.results],
            "verdict": typed_json.written(self.verdict),
            "facts": self.facts.as_json(),
            "device_memory": typed_json.written(self.device_memory),
        }
        stated = {one.name: getattr(self, one.name) for one in fields(self)} | parts  # `asdict` would copy them first
        rare = {"stage", "device_memory"}
        return {name: value for name, value in stated.items() if name not in rare or value}


def read(folder: Path) -> Status | None:
    """Read the status of a run: interrupted if its process has ended; None if there is none."""
    try:
        status = parsed((folder / run_folder.STATUS).read_bytes())
    except OSError:
        return None
    if status is not None and status.live and not _alive(folder, status):
        return replace(status, state=INTERRUPTED)
    return status


@lru_cache(maxsize=256)  # every rerun of a page reads the status of every run
def parsed(content: bytes) -> Status | None:
    """The status in a file's content; None if it is damaged."""
    try:
        return typed_json.read(Status, typed_json.parsed(content.decode("utf-8")))
    except ValueError:
        return None


def write(folder: Path, status: Status) -> Status:
    """Write a status in the run's folder, with the id of this process."""
    work_folder.check_there(folder, RUN)
    signed = work_folder.signed(status, beat=time.time())
    text = typed_json.lines(signed.as_json())
    places.write_whole(
        folder / run_folder.STATUS,
        lambda file: file.write(text.encode()),
        "Make room on that disk, then resume the run.",
        durable=False,  # it is written twice a second, and the next one replaces it
    )
    return signed


def _alive(folder: Path, status: Status) -> bool:
    if status.host != socket.gethostname():
        return _beat_lately(folder, status.beat)
    if status.state == RUNNING:
        return work_folder.is_held(folder)
    return work_folder.is_same_process(status.pid, status.born)


def _beat_lately(folder: Path, beat: float) -> bool:
    """Whether a process on another machine has written lately, by the changes that this process has seen.

    Two clocks are compared only where nothing was seen before: either may be wrong, or be set meanwhile.
    """
    now = time.monotonic()
    last, seen = _last_beats.get(folder, (beat, now if abs(time.time() - beat) < SILENCE else -math.inf))
    _last_beats[folder] = beat, seen if beat == last else now
    return now - _last_beats[folder][1] < SILENCE
