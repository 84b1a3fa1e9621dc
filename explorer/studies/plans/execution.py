"""Work off a plan, one training after the other, and estimate the cost of what is left of it.

What is measured is skipped; what fails is left behind and named.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count
from statistics import fmean
from typing import TYPE_CHECKING

from explorer import in_words, places, run_folder
from explorer.data.text_sets import digest_of
from explorer.encoding.locate import model_names
from explorer.errors import BadChoice, DataError, RunError, StrataError
from explorer.evaluating import tasks as kinds
from explorer.evaluating.evaluation import columns, evaluation, loaded, with_name
from explorer.evaluating.results.scored_task import EVALUATED, Options
from explorer.knobs import Knobs, knob
from explorer.progress import Phase, Progress, Work
from explorer.studies.plans.plan import Plan, PlanCell, cells
from explorer.studies.plans.plan_folder import FAILED, FINISHED, RUNNING, STOPPED, PlanFolder, PlanStatus, new_id
from explorer.studies.recipe_runs import RecipeRuns, is_finished, is_of_plan
from explorer.training import running
from explorer.training.record import run_results, runs
from explorer.training.record import status as statuses

if TYPE_CHECKING:
    from explorer.training.loop.measured_facts import Estimate

Train = Callable[[runs.Run], Work[runs.Run | None]]
POLL_EVERY = 0.2  # seconds between two readings of the status of a run that torchrun trains


def check(plan: Plan) -> tuple[PlanCell, ...]:
    """Refuse a plan with a model, text or task that cannot be read, or a text that is too small; return its cells."""
    found, sets, known = cells(plan), loaded(tasks_of(plan), Options()), RecipeRuns()
    for named in plan.tasks:  # a task without data, or a suite of which no task has data
        of_name = [sets[task] for task in _tasks_named(named)]
        errors = [one for one in of_name if isinstance(one, DataError)]
        if len(errors) == len(of_name):
            raise type(errors[0])(f"Task {named}: {errors[0]}")
    for cell in found:
        if cell.seed == plan.seeds[0]:
            try:
                known.digests(cell.recipe)
            except StrataError as error:
                raise type(error)(f"{cell.row}: {error}") from error
    return found


def execute(folder: PlanFolder, train: Train = running.train) -> Work[PlanStatus]:
    """Train and evaluate every cell that is not measured yet, and return the final state.

    To stop, take no next step: the run under way is saved, and the plan can be resumed. A viewer's request to stop is
    read after each step.
    """
    with folder.held():
        folder.clear_stop_request()
        work = _executed(folder, train)
        try:
            while not folder.stop_requested():
                try:
                    progress = next(work)
                except StopIteration as end:
                    ended: PlanStatus = end.value
                    return ended
                yield progress
            work.close()
            return _put(folder, replace(folder.status(), state=STOPPED))
        except StrataError as error:
            with suppress(StrataError):  # on a full disk not even this can be written
                folder.put(replace(folder.status(), state=FAILED, error=str(error)))
            raise
        finally:
            work.close()


def _executed(folder: PlanFolder, train: Train) -> Work[PlanStatus]:
    plan = folder.plan()
    every, known = cells(plan), RecipeRuns()
    before = folder.status()
    fresh = PlanStatus(RUNNING, of_app=before.of_app, started=before.started, expected=before.expected)
    status = _put(folder, replace(fresh, id=before.id or new_id(), tasks=before.tasks))
    yield Progress("looking for what is measured", 0, len(every))
    sets = loaded(tasks_of(plan), Options())
    missing = tuple(dict.fromkeys(str(error) for error in sets.values() if isinstance(error, DataError)))
    now = {task: one for task, one in columns(sets, Options(), EVALUATED).items() if one.kind}
    status = _put(folder, replace(status, tasks={**before.tasks, **now}, missing=missing))
    found = known.of([cell.recipe for cell in every], status.id)
    for place, cell in enumerate(every):
        run = found[place]
        if run is None or not is_finished(run):
            if not _affordable(plan, status, every, found, place):
                status = _put(folder, replace(status, left_out=(*status.left_out, name_of(cell))))
                continue
            try:
                run = found[place] = _begun(plan, status.id, cell, run)
                yield from with_name(train(run), f"{place + 1} of {len(every)}: {name_of(cell)}")
            except StrataError as error:
                status = _put(folder, _failed(status, name_of(cell), str(error)))
                continue
            if not is_finished(run):  # a viewer stopped this run: the plan goes on without it
                text = "The run was stopped. Resume the plan to train it."
                status = _put(folder, _failed(status, name_of(cell), text))
                continue
        if plan.tasks:
            status = yield from _evaluated(folder, status, run_folder.model_name(run.name), name_of(cell))
    for model in plan.models if plan.tasks else ():
        status = yield from _evaluated(folder, status, model, f"base {model}")
    return _put(folder, replace(status, state=FINISHED))


def _put(folder: PlanFolder, status: PlanStatus) -> PlanStatus:
    folder.put(status)
    return status


def _failed(status: PlanStatus, what: str, error: str) -> PlanStatus:
    return replace(status, failures={**status.failures, what: error})


def name_of(cell: PlanCell) -> str:
    """`sg-opt (temperature 0.1), seed 2`: a cell in words."""
    return f"{cell.row}, seed {cell.seed}" if cell.recipe.trains else cell.row


def spent(plan: str, every: Sequence[runs.Run | None]) -> tuple[float, int]:
    """The seconds and steps of the own runs of a plan, given by its id; runs that were there before cost nothing."""
    own = [run.status() for run in every if run is not None and is_of_plan(run, plan)]
    return sum(one.seconds for one in own), sum(one.step for one in own)


def _affordable(
    plan: Plan, status: PlanStatus, every: Sequence[PlanCell], found: Sequence[runs.Run | None], place: int
) -> bool:
    """Whether the budget suffices for one more cell.

    It is expected to take as long as others of its row did, else as was estimated, corrected by how long other rows
    took.
    """
    (seconds, steps), budget, row = spent(status.id, found), plan.budget, every[place].row
    if budget.steps is not None:
        least = sum(max(1, one.schedule().steps) for one in every[place].recipe.chain)
        if steps + least > budget.steps:
            return False
    if budget.minutes is None:
        return True
    took: dict[str, list[float]] = {}
    for run, cell in zip(found, every, strict=True):
        if run is not None and is_of_plan(run, status.id) and is_finished(run):
            took.setdefault(cell.row, []).append(run.status().seconds)
    expected = status.expected.get(row, 0.0)
    if row in took:
        expected = max(took[row])
    elif known := [max(took[one]) / status.expected[one] for one in took if status.expected.get(one)]:
        expected *= fmean(known)
    left = budget.minutes * 60 - seconds
    return left > expected


def _begun(plan: Plan, own: str, cell: PlanCell, run: runs.Run | None) -> runs.Run:
    """The run of a cell, waiting to be trained: a new one, or one that was interrupted, stopped or failed."""
    if run is not None:
        if not run.status().live:  # a run that another process trains is refused by its lock
            runs.restarted(run)
        return run
    # the row as a part of the run's name; a number follows if a run of that name was trained on another text
    word = "".join(sign if sign.isalnum() and sign.isascii() else "-" for sign in cell.row.lower())
    row = "-".join(filter(None, word.split("-")))
    if not row or len(row) > 40:
        row = f"{row[:30].strip('-')}-{digest_of((cell.row,))[:6]}".strip("-")
    stem = f"{plan.name}-{row}-seed-{cell.seed}"
    for number in count(1):
        name = stem if number == 1 else f"{stem}-{number}"
        try:
            return runs.new(cell.recipe, name, plan=own, row=cell.row)
        except BadChoice:
            if not (places.runs_folder() / name).exists():
                raise
    raise AssertionError  # the names do not end


def _evaluated(folder: PlanFolder, status: PlanStatus, model: str, cell: str) -> Work[PlanStatus]:
    """Evaluate a model on the plan's tasks; a task without data is named, an error is one of the cell."""
    tasks = tasks_of(folder.plan())
    try:
        subject = kinds.Subject(model_names.find(model), EVALUATED)
        found = yield from evaluation([(run_results.scored(subject.found), subject)], tasks, Options())
    except StrataError as error:
        status = _failed(status, f"{cell}, evaluation", str(error))
    else:
        status = replace(status, missing=tuple(dict.fromkeys((*status.missing, *found.missing))))
    return _put(folder, status)


def tasks_of(plan: Plan) -> tuple[str, ...]:
    """The tasks of a plan, of which some may be named by their suite."""
    return tuple(dict.fromkeys(task for named in plan.tasks for task in _tasks_named(named)))


def _tasks_named(named: str) -> tuple[str, ...]:
    """The tasks of a suite, or the one of this name."""
    return kinds.tasks_of(named) if named in kinds.suites() else (kinds.named(named),)


@dataclass(frozen=True)
class ExecutionOptions(Knobs):
    """How the runs of a plan are trained."""

    processes: int = knob(1, low=1, help="Train each run with this many processes, started by torchrun.")


def trained_by(processes: int) -> Callable[[runs.Run], Work[runs.Run | None]]:
    """A way to train a run: by torchrun, with so many processes on this machine."""

    def train(run: runs.Run) -> Work[runs.Run | None]:
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(processes)]
        command += ["-m", "explorer", "train", "--resume", run.name, "--out", str(run.folder.parent)]
        # the command puts the run in the queue itself, and refuses one that waits already
        statuses.write(run.folder, replace(run.status(), state=statuses.STOPPED))
        with tempfile.TemporaryFile() as errors:
            # out of reach of the terminal's Ctrl-C: torchrun would hear it twice, and leave its processes alone
            started = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors, start_new_session=True)
            try:
                while started.poll() is None:
                    status = run.status()
                    yield Progress(status.phase or Phase.STARTING, status.step, status.total, about=status.about)
                    time.sleep(POLL_EVERY)
            finally:
                if started.poll() is None:
                    started.terminate()
                    started.wait()
            if started.returncode:
                errors.seek(0)
                last = errors.read().decode(errors="replace").strip()[-300:]
                raise RunError(run.status().error or f"The processes ended with status {started.returncode}: {last}")
        return run

    return train


@dataclass(frozen=True)
class PlanEstimate:
    """The cost of what is left of a plan; the evaluation on its tasks comes on top."""

    cells: int  # trainings in all
    measured: int  # of them finished
    seconds: float  # of the others, if all could be estimated
    evaluating: float  # of these, those of evaluations of the runs
    memory: int  # bytes, of the largest
    disk: int  # bytes: all models, and the state of the run under way
    steps: int
    failures: Mapping[str, str]  # rows that cannot be trained, and why
    tasks: int
    minutes: float | None  # the budget

    @property
    def text(self) -> str:
        """The estimate in words."""
        left = self.cells - self.measured
        text = f"{left} training{'s' * (left != 1)}" + (
            f" ({self.measured} more are measured)" if self.measured else ""
        )
        text += f", {self.steps:,} steps, about {in_words.duration(self.seconds)}"
        if 2 * self.evaluating > self.seconds:
            text += f", most of which are evaluations ({in_words.duration(self.evaluating)})"
        text += f"; {in_words.size(self.memory)} of memory, {in_words.size(self.disk)} on disk at most"
        text += f"; evaluation on {self.tasks} task{'s' * (self.tasks != 1)} comes on top" if self.tasks else ""
        if self.minutes is not None and self.seconds > self.minutes * 60:
            text += f"; the budget of {self.minutes:g} min does not suffice for all of them"
        return text


def estimate(plan: Plan) -> Work[PlanEstimate]:
    """Estimate what is left of a plan from one step of each row that has something left to train."""
    from explorer.training.loop.estimate import try_out

    every = cells(plan)
    found = RecipeRuns().of([cell.recipe for cell in every])
    done = [run is not None and is_finished(run) for run in found]
    rows: dict[str, list[PlanCell]] = {}
    for cell, finished in zip(every, done, strict=True):
        if not finished:
            rows.setdefault(cell.row, []).append(cell)
    seconds, evaluating, memory, kept, working, steps = 0.0, 0.0, 0, 0, 0, 0
    failures: dict[str, str] = {}
    for place, (row, left) in enumerate(rows.items()):
        yield Progress(f"one step of {row}", place, len(rows))
        try:
            if left[0].recipe.trains:
                one, loading = yield from _timed(try_out(left[0].recipe))
                seconds, memory = seconds + (loading + one.seconds) * len(left), max(memory, one.memory)
                evaluating += one.evaluating * len(left)
                kept, steps = kept + one.kept * len(left), steps + one.steps * len(left)
                working = max(working, one.disk)
        except StrataError as error:
            failures[row] = str(error)
    return PlanEstimate(
        cells=len(every),
        measured=sum(done),
        seconds=seconds,
        evaluating=evaluating,
        memory=memory,
        disk=working + kept,
        steps=steps,
        failures=failures,
        tasks=len(tasks_of(plan)),
        minutes=plan.budget.minutes,
    )


def _timed(work: Work[Estimate]) -> Work[tuple[Estimate, float]]:
    """The estimate of a training, and the seconds of loading its text and model, which each training does again."""
    started = time.monotonic()
    loading = 0.0
    try:
        while True:
            progress = next(work)
            loading = time.monotonic() - started  # the last report comes before the first step
            yield progress
    except StopIteration as end:
        found: Estimate = end.value
        return found, loading
    finally:
        work.close()
