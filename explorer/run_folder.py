"""The folder of a run: names of its files and models (`run:NAME@step-60`), lines of its metrics, and its lock.

A process that works in a folder locks it; the system frees the lock when the process ends.
"""

import fcntl
import json
import math
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import psutil

from explorer import typed_json
from explorer.errors import RunBusy
from explorer.places import examples_folder, is_utf8, readable, runs_folder, writing

RECIPE, STATUS, METRICS, LOG = "recipe.yaml", "status.json", "metrics.jsonl", "train.log"
STOP_REQUEST, LOCK = "stop-request", ".lock"  # a viewer's request to stop, and the trainer's hold
QUEUED = "queued"  # the place in the queue of a run that has not begun
MODEL, STATE, STEPS, PROBE, PREDICTIONS, ITEMS = "model", "state", "steps", "probe", "predictions", "items"  # folders
PROBE_SENTENCES = "sentences.json"

READABLE = "Check its permissions, or set STRATA_RUNS to another folder."
RUN = "run:"  # prefix of a run's name, for its model; a checkpoint follows after an @
_CHECKPOINT = re.compile(r"(seed-[0-9]+-)?step-[0-9]+")


def home(folder: Path | None = None) -> Path:
    """The folder of runs, or another one; an error if it is there and cannot be listed."""
    return readable(folder or runs_folder(), READABLE)


def folder_of(run: str) -> Path:
    """The folder of a run; of an example that ships, if no run has its name."""
    folder, shipped = runs_folder() / run, examples_folder() / run
    return shipped if shipped.is_dir() and not folder.is_dir() else folder


def model_name(run: str, checkpoint: str = "") -> str:
    """The name of a run's model, or of one of its checkpoints."""
    return f"{RUN}{run}@{checkpoint}" if checkpoint else f"{RUN}{run}"


def run_and_checkpoint(model: str) -> tuple[str, str]:
    """The run in a model's name, and the checkpoint if there is one; the name itself if it is not of a run."""
    run, _, checkpoint = model.removeprefix(RUN).partition("@")
    return run, checkpoint


def model_of(folder: Path) -> str | None:
    """The name of the model in a folder of a run; None for any other folder."""
    inside = folder.resolve()
    homes = (runs_folder().resolve(), examples_folder().resolve())
    parts = next((inside.relative_to(home).parts for home in homes if inside.is_relative_to(home)), ())
    if len(parts) == 2 and parts[1] == MODEL:
        return model_name(parts[0])
    if len(parts) == 3 and parts[1] == STEPS and is_checkpoint(parts[2]):
        return model_name(parts[0], parts[2])
    return None


def folders_with(file: str, folder: Path | None = None) -> list[Path]:
    """The folders of runs, or in another folder, that hold this file; not hidden ones, nor those not named in UTF-8."""
    found = (path.parent for path in home(folder).glob(f"[!.]*/{file}"))
    return [folder for folder in found if is_utf8(folder.name)]


def newest_first(file: str, folder: Path | None = None) -> list[Path]:
    """The folders of runs, or in another folder, that hold this file, by the time of the file."""

    def written(path: Path) -> float:
        try:
            return (path / file).stat().st_mtime
        except OSError:
            return 0.0

    return sorted(folders_with(file, folder), key=written, reverse=True)


def models() -> list[str]:
    """The models of runs, by name, newest first; then those that ship, in alphabetical order."""
    own, shipped = folders_with(MODEL), sorted(folders_with(MODEL, examples_folder()))
    names = [path.name for path in sorted(own, key=lambda path: -path.stat().st_mtime) if (path / MODEL).is_dir()]
    return [model_name(name) for name in dict.fromkeys((*names, *(path.name for path in shipped)))]


def checkpoints(run: str) -> list[str]:
    """The names of a run's checkpoints, in order; none if they were not kept."""
    kept = [path.name for path in (runs_folder() / run / STEPS).glob("*step-*") if is_checkpoint(path.name)]
    return [model_name(run, name) for name in sorted(kept, key=lambda name: [*map(int, re.findall(r"\d+", name))])]


def checkpoint_name(seed: int, step: int, seeds: int) -> str:
    """The name of a checkpoint, after the run's name and an @: `step-60`, `seed-2-step-60`."""
    return f"step-{step}" if seeds == 1 else f"seed-{seed}-step-{step}"


def is_checkpoint(name: str) -> bool:
    """Whether this can be the name of a checkpoint."""
    return bool(_CHECKPOINT.fullmatch(name))


def probe_file(folder: Path, seed: int, step: int, of: str = "") -> Path:
    """The file of the probe's vectors at an evaluation; `of` is `layers` for the weights of a pooler."""
    return folder / PROBE / f"seed-{seed}-step-{step:06d}{f'-{of}' if of else ''}.npy"


def predictions_file(folder: Path, seed: int) -> Path:
    """The file of the classes of the test rows, true and predicted, by the best checkpoint of a seed."""
    return folder / PREDICTIONS / f"seed-{seed}.tsv"


def items_file(folder: Path, seed: int) -> Path:
    """The file of what each item of the test set gets from the best checkpoint of a seed, such as a pair's cosine."""
    return folder / ITEMS / f"seed-{seed}.npy"


def in_use_file(folder: Path, seed: int) -> Path:
    """The file of what the items of dev and test set get from the base and from the best checkpoint of a seed."""
    return folder / ITEMS / f"seed-{seed}.npz"


@dataclass(frozen=True)
class TrainingStep:
    """What was measured in one training step; None is not finite, and left out of the file."""

    number: int  # of the seed, from 1
    seed: int
    step: int
    time: float = 0.0
    loss: float | None = None
    rate: float | None = None  # the learning rate
    positive: float | None = None  # mean cosine of the positive pairs of the batch
    negative: float | None = None  # mean cosine of the random pairs of the batch
    smooth: float | None = None  # the loss averaged over earlier steps; added when the file is read
    stage: int | None = None  # from 1; None in a run without stages


@dataclass(frozen=True)
class Evaluation:
    """What was measured on the dev set after a step; the fields have the names they have in the file."""

    number: int
    seed: int
    step: int
    time: float = 0.0
    dev: float | None = None  # the score × 100; None if there is none
    alignment: float | None = None
    uniformity: float | None = None
    alike: float | None = None  # mean cosine of positive pairs
    random_pairs: float | None = None  # mean cosine of random pairs
    best: bool = False  # the best of its seed, and stage, so far
    held_out: float | None = None  # the score × 100 of held-out rows: triplets in the right order, or classes
    criterion: float | None = None  # what chooses the best checkpoint, if not the dev score alone
    stage: int | None = None  # from 1; None in a run without stages
    cosines: tuple[float, ...] = ()  # of the watched pairs; none in runs of before they were recorded

    @property
    def selection_score(self) -> float | None:
        """The number that the best checkpoint is chosen by."""
        return self.dev if self.criterion is None else self.criterion


MetricLine = TrainingStep | Evaluation


def metric_line(text: str | bytes) -> MetricLine | None:
    """The content of a line; None if it is damaged: a disk that was full leaves half a line."""
    try:
        stated = typed_json.parsed(text)
    except ValueError:
        return None
    if isinstance(stated, dict) and not stated.keys().isdisjoint({"loss", "rate"}):
        return typed_json.read(TrainingStep, stated)
    return typed_json.read(Evaluation, stated)


def metric_text(line: MetricLine) -> str:
    """The line as the file holds it, with its end; JSON has no NaN, so such numbers are left out."""
    return json.dumps({name: value for name, value in asdict(line).items() if not _missing(value)}) + "\n"


def _missing(value: object) -> bool:
    return value in (None, ()) or (isinstance(value, float) and not math.isfinite(value))


@contextmanager
def holding(folder: Path, busy: str, next_step: str) -> Iterator[None]:
    """Hold the lock of a folder, which the system frees when the process ends; `busy` is the error if it is taken."""
    with writing(folder, next_step):
        opened = (folder / LOCK).open("w")
    with opened as lock:
        for patience in (0.05,) * 20 + (None,):  # a viewer takes the lock for a moment, to test it
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError as error:
                if patience is None:
                    raise RunBusy(busy) from error
                time.sleep(patience)
        yield


def is_held(folder: Path) -> bool:
    """Whether a process holds the lock of a folder."""
    return is_in_use(folder / LOCK)


@contextmanager
def in_use(folder: Path) -> Iterator[None]:
    """Lock a folder that is being made or deleted, without a file in it; some network disks cannot."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def is_in_use(path: Path) -> bool:
    """Whether a process has locked a folder, which it makes or deletes, or a file."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(handle)
    return False


def is_same_process(pid: int, born: str) -> bool:
    """Whether the process with this id is the one that was born so, and runs."""
    return bool(born) and born == birth(pid)


@cache
def own_birth(pid: int) -> str:
    """`birth` of this process, which stays what it is; by its id, since a fork is another process."""
    return birth(pid)


def birth(pid: int) -> str:
    """What tells a process from others that had its id before; "" if there is none.

    The start of the machine by its id, and the start of the process counted from there: a time of the day would change
    whenever the clock is set.
    """
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return ""
        boot = Path("/proc/sys/kernel/random/boot_id")
        if not boot.exists():  # not Linux: the system itself notes when a process started
            return str(process.create_time())
        ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
        return f"{boot.read_text().strip()} {ticks}"
    except (psutil.Error, OSError):
        return ""
