"""Find, read, rename and delete runs, each a folder that only the trainer writes more to; clear what killed ones left.

A folder holds recipe.yaml, status.json, metrics.jsonl, train.log, probe/, model/ (loads in transformers and in
sentence-transformers), steps/ (the model at each evaluation, if kept), state/ (what resuming needs, until the run is
finished) and README.md. `stop-request` is what a viewer asks for.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from explorer import run_folder, work_folder
from explorer.errors import BadChoice, NotWritable, RunBusy, RunNotFound
from explorer.places import examples_folder, given_path, is_utf8, runs_folder
from explorer.run_folder import LOG, METRICS, MODEL, RECIPE, STATE, STATUS, MetricLine
from explorer.training.record import status as statuses
from explorer.training.record.run_facts import RunFacts
from explorer.training.record.status import Status
from explorer.typed_numbers import whole_in
from explorer.work_folder import ROOM, WorkFolder, is_held

if TYPE_CHECKING:
    from explorer.training.recipe import Recipe

KEEP, DISCARD = work_folder.KEEP, work_folder.DISCARD
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")


@dataclass(frozen=True)
class Run(WorkFolder[Status]):
    """A run by its folder."""

    NOUN = statuses.RUN
    BUSY = "'{}' is being trained by another process. Wait for it, or stop it."

    @property
    def row(self) -> str:
        """What it is called as a run of a plan, `CLS_All attention, seed 1`; "" for any other run."""
        status = self.status()
        return f"{status.facts.row}, seed {status.seed}" if status.facts.row else ""

    @property
    def called(self) -> str:
        """What lists call it: its row of a plan, with the seed; else its name."""
        return self.row or self.name

    @property
    def model(self) -> Path:
        """The folder of the tuned encoder, once there is one."""
        return self.folder / MODEL

    @property
    def state(self) -> Path:
        """The folder of the state that resuming needs."""
        return self.folder / STATE

    @property
    def is_example(self) -> bool:
        """Whether it ships with Strata, and can be read only."""
        return self.folder.parent == examples_folder()

    @property
    def has_model(self) -> bool:
        """Whether there is a tuned encoder that can be loaded."""
        return self.model.is_dir()

    def recipe(self) -> Recipe:
        """The recipe of the run."""
        from explorer.training import recipe_file

        return recipe_file.read(self.folder / RECIPE)

    def status(self) -> Status:
        """The status; a run without a status file yet is waiting."""
        return statuses.read(self.folder) or Status(state=statuses.INTERRUPTED)

    def put(self, status: Status) -> None:
        """Write the status, with the id of this process."""
        statuses.write(self.folder, status)

    def metrics(self) -> list[MetricLine]:
        """Every line of the metrics, in order."""
        try:
            lines = (self.folder / METRICS).read_bytes().split(b"\n")
        except OSError:
            return []
        return [read for line in lines[:-1] if (read := run_folder.metric_line(line))]  # the last one may be incomplete

    def log_tail(self, lines: int = 20) -> str:
        """The end of the log."""
        try:
            text = (self.folder / LOG).read_text(encoding="utf-8", errors="replace")  # its end may be incomplete
        except OSError:
            return ""
        return "\n".join(text.splitlines()[-lines:])

    def renamed(self, name: str) -> Run:
        """Rename the run."""
        self.check_ended("renamed")
        target = self.folder.with_name(free_name(name, self.folder.parent))
        try:
            self.folder.rename(target)
        except OSError as error:
            raise NotWritable(f"'{self.name}' cannot be renamed: {error.strerror}. {ROOM}") from error
        return Run(target)

    def delete_model(self) -> None:
        """Delete the tuned encoder alone: recipe, status, scores and card stay."""
        self.check_ended("changed")
        self._deleted(self.model)

    @property
    def model_bytes(self) -> int:
        """The size of the tuned encoder; 0 if there is none."""
        return sum(path.stat().st_size for path in self.model.rglob("*") if path.is_file())

    def check_ended(self, what: str) -> None:
        """Refuse it for a run that ships with Strata too."""
        if self.is_example:
            raise BadChoice(
                f"'{self.name}' ships with Strata and cannot be {what}. Train it again to get your own copy."
            )
        super().check_ended(what)


def new(recipe: Recipe, name: str = "", folder: Path | None = None, *, plan: str = "", row: str = "") -> Run:
    """Make the folder of a new run, with its recipe, in state waiting.

    `plan` is the id of the plan that makes it, and `row` its row there.
    """
    parent = folder or runs_folder()

    def fill(part: Path) -> None:
        (part / RECIPE).write_text(recipe.as_yaml(), encoding="utf-8")
        judged_on = recipe.dev, recipe.test, recipe.more_tests
        facts = RunFacts(recipe.method, recipe.model, recipe.data, *judged_on, plan, recipe.elsewhere, row)
        statuses.write(part, Status(seeds=len(recipe.seeds), seed=recipe.seeds[0], facts=facts))

    there = work_folder.made(parent, [free_name(name, parent)] if name else _free_names(recipe, parent), fill)
    if there is not None:
        return Run(there)
    raise BadChoice(f"There is a run '{name}' already: another process has just made it. Choose another name.")


def every(folder: Path | None = None) -> list[Run]:
    """Every run of the user, newest first."""
    return [Run(path) for path in run_folder.newest_first(RECIPE, folder)]


def examples() -> list[Run]:
    """The finished runs that ship with Strata, by name: that of the demonstration is the first."""
    return [Run(path.parent) for path in sorted(examples_folder().glob(f"*/{RECIPE}"))]


def find(name: str, folder: Path | None = None) -> Run:
    """The run with this name."""
    run = Run(run_folder.home(folder) / name)
    shipped = Run(examples_folder() / name)
    if not folder and _NAME.fullmatch(name) and not run.folder.is_dir() and shipped in examples():
        return shipped
    if not _NAME.fullmatch(name) or not (run.folder / RECIPE).is_file():
        there = ", ".join(one.name for one in every(folder)[:5]) or "none yet"
        listed = "" if folder else f" {run_folder.LISTED}"
        raise RunNotFound(f"There is no run '{name}'. There are: {there}.{listed}")
    return run


def named(source: str, folder: Path | None = None) -> Run:
    """A run as it is written: `run:NAME`, `NAME`, its folder, or that of its model; names are of runs in `folder`."""
    if source.startswith(run_folder.RUN):
        name, _ = run_folder.run_and_checkpoint(source)
        if "@" in source:
            raise BadChoice(f"'{source}' is a checkpoint; a run is needed. Give '{run_folder.model_name(name)}'.")
        return find(name, folder)
    path = given_path(source)
    if len(path.parts) == 1:  # a name, or else a folder here
        try:
            return find(source, folder)
        except RunNotFound:
            if not (path / RECIPE).is_file():
                raise
    path = path.absolute()
    return of_model(path) or find(path.name, path.parent)


def of_model(folder: Path) -> Run | None:
    """The run whose model is in a folder; None if it is not a run's."""
    run = Run(folder.parent)
    return run if folder == run.model and (run.folder / RECIPE).is_file() else None


def row_of(model: str) -> str:
    """What the run of a model `run:NAME` is called in its plan, `CLS_All attention, seed 1`; "" of any other model."""
    name, _ = run_folder.run_and_checkpoint(model)
    return Run(run_folder.folder_of(name)).row if model.startswith(run_folder.RUN) else ""


def shown(model: str) -> str:
    """A model as menus show it: that of a plan's run by its row first, `CLS_All attention, seed 1 (run:NAME)`."""
    row = row_of(model)
    return f"{row} ({model})" if row else model


def model_title(model: str) -> str:
    """A model as sentences and titles name it: `example run` for `run:example`, the row of a plan's run, else its name.

    A checkpoint has its step too: `example run, step 60`.
    """
    if not model.startswith(run_folder.RUN):
        return model
    name, checkpoint = run_folder.run_and_checkpoint(model)
    called = row_of(model) or f"{name} run"
    return f"{called}, {checkpoint.replace('-', ' ')}" if checkpoint else called


def free_name(name: str, parent: Path) -> str:
    """The name, if it is allowed and free."""
    if not _NAME.fullmatch(name):
        raise BadChoice(
            f"A run cannot be called {name!r}. Use up to 80 letters, digits, '-', '_' or '.', a letter or digit first."
        )
    if Run(examples_folder() / name) in examples():
        raise BadChoice(f"'{name}' is the name of an example run that ships with Strata. Choose another name.")
    if (parent / name).exists():
        raise BadChoice(f"There is a run '{name}' already. Choose another name, or delete that run.")
    return name


def _free_names(recipe: Recipe, parent: Path) -> Iterator[str]:
    """Names that are free, in order: the first may be taken by another process in the same instant."""
    base = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(recipe.model).name).strip("-._")[:40] or "model"
    stem = f"{recipe.method}-{base}"
    numbers = (whole_in(path.name.rpartition("-")[2]) for path in parent.glob(f"{stem}-*"))
    first = max((number for number in numbers if number is not None), default=0) + 1
    yield from (f"{stem}-{number}" for number in range(first, first + 100))


def restarted(run: Run) -> None:
    """Put a run that was stopped, interrupted or failed back in the queue."""
    status = run.status()
    if status.live:
        raise RunBusy(f"'{run.name}' is {status.state} already.")
    if status.state == statuses.FINISHED:
        raise BadChoice(f"'{run.name}' is finished. To train its model further, start a run with {run.model} as base.")
    run.clear_stop_request()
    (run.folder / run_folder.JOB).unlink(missing_ok=True)
    statuses.write(run.folder, replace(status, state=statuses.WAITING, phase=None, about="", error="", details=""))


def collect(folder: Path | None = None) -> None:
    """Delete half-made and half-deleted runs, and the states of finished runs: hundreds of megabytes each."""
    for run in every(folder):
        if run.state.exists() and run.status().state == statuses.FINISHED and not is_held(run.folder):
            shutil.rmtree(run.state, ignore_errors=True)
    work_folder.collect(run_folder.home(folder))


def unreadable(folder: Path | None = None) -> list[str]:
    """One line for each run whose recipe or status cannot be read: in a list it is missing, or looks interrupted."""
    found = (path for path in run_folder.home(folder).glob("[!.]*") if is_utf8(path.name) and path.is_dir())
    return [line for path in sorted(found) if (line := _fault(path))]


def _fault(path: Path) -> str:
    """Why a run is not listed as it is; "" if nothing is wrong, or if it is no run."""
    try:
        with suppress(FileNotFoundError):
            (path / RECIPE).open("rb").close()
        with suppress(FileNotFoundError):
            if statuses.parsed((path / STATUS).read_bytes()) is None:
                return f"'{path.name}' has a damaged status: it counts as interrupted. Restore its file, or resume it."
    except OSError as error:
        return f"'{path.name}' cannot be read: {error.filename}: {error.strerror}. Check its permissions."
    return ""
