"""Read and write the status of a run: a small file that the trainer rewrites and every viewer reads."""

import json
import math
import os
import socket
import time
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from explorer import run_folder, typed_json
from explorer.errors import RunGone
from explorer.measuring.comparing.learned import Learned
from explorer.measuring.scores.verdict import RunVerdict
from explorer.places import write_whole
from explorer.progress import Phase
from explorer.training.loop.measured_facts import SeedScores
from explorer.training.record import folder_lock
from explorer.training.record.run_facts import RunFacts

WAITING, RUNNING, FINISHED, STOPPED, FAILED = "waiting", "running", "finished", "stopped", "failed"
INTERRUPTED = "interrupted"  # never written: the state of a run whose process has ended
LIVE = (WAITING, RUNNING)
# a process on another machine counts as ended after this silence; one that trains writes more often
SILENCE = 120.0  # seconds
# the last beat of a run elsewhere, and our monotonic time when it was new
_last_beats: dict[Path, tuple[float, float]] = {}


@dataclass(frozen=True)
class Status:
    """The status of a run."""

    state: str = WAITING
    phase: Phase | None = None  # what it does now, and the name of what that is about
    about: str = ""
    done: int = 0  # of that phase
    of: int = 0
    step: int = 0
    total: int = 0
    seed: int = 0  # the one that is trained now
    seed_number: int = 1  # the position of that seed, from 1
    seeds: int = 1
    since_step: int = 0  # the step and the seconds at which this process began to train: its pace counts from there
    since: float | None = None
    base: float | None = None  # dev score of the base under its model default; then the best score and its step
    best: float | None = None
    best_step: int | None = None
    seconds: float = 0.0  # of work, over all processes of the run
    error: str = ""
    details: str = ""
    results: tuple[SeedScores, ...] = ()  # of each seed that is done
    verdict: RunVerdict | None = None  # the tuned model compared with its base; the base's scores alone until the end
    facts: RunFacts = field(default_factory=RunFacts)
    pid: int = 0
    born: str = ""  # what tells that process from others with its id
    host: str = ""
    beat: float = 0.0  # when it was written, by the clock of that host

    @property
    def live(self) -> bool:
        """Whether the run is training or waiting to."""
        return self.state in LIVE

    @property
    def shown_best(self) -> float | None:
        """The best score as the comparison with the base has it, which is in float32; before it, the score that chose
        the checkpoint, in the precision of the training."""
        chosen_by_dev = self.seeds == 1 and not self.facts.held_out
        exported = self.verdict.dev.exported if chosen_by_dev and self.verdict and self.verdict.dev else None
        return self.best if exported is None else exported

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

    @property
    def learned(self) -> Learned:
        """What the run learned, by its held-out probe packs and its test set."""
        return self.facts.learned(self.verdict or RunVerdict())

    def as_json(self) -> dict[str, Any]:
        """The status as the file holds it."""
        parts = {"results": [one.as_json() for one in self.results], "facts": self.facts.as_json()}
        return asdict(self) | parts


def read(folder: Path) -> Status | None:
    """Read the status of a run: interrupted if its process has ended; None if there is none."""
    try:
        status = parsed((folder / run_folder.STATUS).read_bytes())
    except OSError:
        return None
    if status is not None and status.live and not _alive(folder, status):
        return replace(status, state=INTERRUPTED)
    return status


def parsed(content: bytes) -> Status | None:
    """The status in a file's content; None if it is damaged."""
    try:
        return typed_json.read(Status, typed_json.parsed(content.decode("utf-8")))
    except ValueError:
        return None


def write(folder: Path, status: Status) -> Status:
    """Write a status in the run's folder, with the id of this process."""
    check_there(folder)
    pid = os.getpid()
    signed = replace(status, pid=pid, born=folder_lock.own_birth(pid), host=socket.gethostname(), beat=time.time())
    text = json.dumps(signed.as_json(), ensure_ascii=False, indent=1)
    write_whole(
        folder / run_folder.STATUS,
        lambda file: file.write(text.encode()),
        "Make room on that disk, then resume the run.",
        durable=False,  # it is written twice a second, and the next one replaces it
    )
    return signed


def check_there(folder: Path) -> None:
    """Refuse to write into a run that is gone: its folder would come back as the husk of a run."""
    if not folder.is_dir():
        raise RunGone(
            f"Run '{folder.name}' is no longer there: it was renamed, moved or deleted. Choose it in the list of runs, "
            "if it is still there."
        )


def _alive(folder: Path, status: Status) -> bool:
    if status.host != socket.gethostname():
        return _beat_lately(folder, status.beat)
    if status.state == RUNNING:
        return folder_lock.is_held(folder)
    return folder_lock.is_same_process(status.pid, status.born)


def _beat_lately(folder: Path, beat: float) -> bool:
    """Whether a process on another machine has written lately, by the changes that this process has seen.

    Two clocks are compared only where nothing was seen before: either may be wrong, or be set meanwhile.
    """
    now = time.monotonic()
    last, seen = _last_beats.get(folder, (beat, now if abs(time.time() - beat) < SILENCE else -math.inf))
    _last_beats[folder] = beat, seen if beat == last else now
    return now - _last_beats[folder][1] < SILENCE
