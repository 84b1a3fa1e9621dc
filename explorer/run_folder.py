"""The folder of a run: names of its files and models (`run:NAME@step-60`), and the lines of its metrics."""

import json
import math
import re
from dataclasses import asdict, dataclass
from pathlib import Path

from explorer import typed_json
from explorer.places import examples_folder, is_utf8, readable, runs_folder

RECIPE, STATUS, METRICS, LOG = "recipe.yaml", "status.json", "metrics.jsonl", "train.log"
QUEUED = "queued"  # the place in the queue of a run that has not begun
JOB = "job"  # the number of the job of Slurm that trains it, or waits there to do so
MODEL, STATE, STEPS, PROBE, PREDICTIONS, ITEMS = "model", "state", "steps", "probe", "predictions", "items"  # folders
PROBE_SENTENCES = "sentences.json"

LISTED = "The page Runs & replay lists every run."
READABLE = "Check its permissions, or set STRATA_RUNS to another folder."
RUN = "run:"  # prefix of a run's name, for its model; a checkpoint follows after an @
_CHECKPOINT = re.compile(r"(seed-[0-9]+-)?step-[0-9]+")


def job_of(folder: Path) -> str:
    """The number of the job of Slurm that trains a run, or waits there to do so; "" if none does."""
    try:
        return (folder / JOB).read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


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
    every_layer: float | None = None  # the mean dev score × 100 after every layer, if all are trained
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
