"""Work off a plan, one training after the other or several at once.

What is measured is skipped; what fails is left behind and named.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import count
from statistics import fmean
from typing import Any

from explorer import places, run_folder
from explorer.data.text_sets import digest_of
from explorer.encoding.locate import model_names
from explorer.errors import BadChoice, DataError, StrataError
from explorer.evaluating import tasks as kinds
from explorer.evaluating.evaluation import columns, evaluation, loaded, with_name
from explorer.evaluating.results.scored_task import EVALUATED, Options
from explorer.progress import Progress, Work, side_by_side
from explorer.studies.plans.plan import Plan, PlanCell, cells, tasks_named, tasks_of
from explorer.studies.plans.plan_folder import FAILED, FINISHED, RUNNING, STOPPED, PlanFolder, PlanStatus, new_id
from explorer.studies.recipe_runs import RecipeRuns, is_finished, is_of_plan
from explorer.training import running
from explorer.training.record import run_results, runs
from explorer.training.record.status import Status
from explorer.training.workers.outside import POLL_EVERY, followed

Train = Callable[[runs.Run], Work[runs.Run | None]]
AtOnce = Callable[[Plan], Work[int]]  # how many trainings of a plan are run at once
AT_ONCE = "Up to {} trainings at once, each in a process of its own."


def check(plan: Plan) -> tuple[PlanCell, ...]:
    """Refuse a plan with a model, text or task that cannot be read, or a text that is too small; return its cells."""
    found, sets, known = cells(plan), loaded(tasks_of(plan), Options()), RecipeRuns()
    for named in plan.tasks:  # a task without data, or a suite of which no task has data
        of_name = [sets[task] for task in tasks_named(named)]
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


def one_by_one(plan: Plan) -> Work[int]:
    """Train one run after the other, whatever the plan is."""
    yield from ()
    return 1


def execute(folder: PlanFolder, train: Train = running.train, at_once: AtOnce = one_by_one) -> Work[PlanStatus]:
    """Train and evaluate every cell that is not measured yet, and return the final state.

    To stop, take no next step: the runs under way are saved, and the plan can be resumed. A viewer's request to stop is
    read after each step.
    """
    with folder.held():
        folder.clear_stop_request()
        work = _executed(folder, train, at_once)
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


def _executed(folder: PlanFolder, train: Train, at_once: AtOnce) -> Work[PlanStatus]:
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
    if not all(run is not None and is_finished(run) for run in found):
        status = _put(folder, replace(status, at_once=(yield from at_once(plan))))
        if status.at_once > 1:
            yield Progress("looking for what is measured", len(every), len(every), note=AT_ONCE.format(status.at_once))
    execution = _Execution(folder, plan, status, every, found, train)
    yield from side_by_side(map(execution.cell, range(len(every))), status.at_once)
    for model in plan.models if plan.tasks else ():
        yield from execution.evaluated(model, f"base {model}")
    return execution.put(state=FINISHED)


def _put(folder: PlanFolder, status: PlanStatus) -> PlanStatus:
    folder.put(status)
    return status


def name_of(cell: PlanCell) -> str:
    """`sg-opt (temperature 0.1), seed 2`: a cell in words."""
    return f"{cell.row}, seed {cell.seed}" if cell.recipe.trains else cell.row


def spent(plan: str, every: Sequence[runs.Run | None]) -> tuple[float, int]:
    """The seconds and steps of the own runs of a plan, given by its id; runs that were there before cost nothing."""
    own = [run.status() for run in every if run is not None and is_of_plan(run, plan)]
    return sum(one.seconds for one in own), sum(one.step for one in own)


@dataclass(eq=False)
class _Execution:
    """A plan that is worked off: its cells, the run of each, and its status, which the cells change in turn."""

    folder: PlanFolder
    plan: Plan
    status: PlanStatus
    every: Sequence[PlanCell]
    found: list[runs.Run | None]
    train: Train
    training: set[int] = field(default_factory=set)  # the places of the cells that are trained now
    evaluating: bool = False

    def put(self, **changes: Any) -> PlanStatus:
        """Change the status."""
        self.status = _put(self.folder, replace(self.status, **changes))
        return self.status

    def cell(self, place: int) -> Work[None]:
        """Train and evaluate a cell, as far as that is not done."""
        cell, run = self.every[place], self.found[place]
        name = f"{place + 1} of {len(self.every)}: {name_of(cell)}"
        if run is not None:
            yield from with_name(followed(run), name)
        if run is None or not is_finished(run):
            while self.plan.budget.minutes is not None and not self._all_expected(place):
                yield Progress(f"{name}: waiting for the time that the first one takes", 0, 0, pause=POLL_EVERY)
            if not self._affordable(place):
                self.put(left_out=(*self.status.left_out, name_of(cell)))
                return
            self.training.add(place)
            try:
                run = self.found[place] = _begun(self.plan, self.status.id, cell, run)
                yield from with_name(self.train(run), name)
            except StrataError as error:
                self._failed(name_of(cell), str(error))
                return
            finally:
                self.training.remove(place)
            if not is_finished(run):  # a viewer stopped this run: the plan goes on without it
                self._failed(name_of(cell), "The run was stopped. Resume the plan to train it.")
                return
        if self.plan.tasks:
            yield from self.evaluated(run_folder.model_name(run.name), name_of(cell))

    def evaluated(self, model: str, cell: str) -> Work[None]:
        """Evaluate a model on the plan's tasks; a task without data is named, an error is one of the cell."""
        while self.evaluating:  # in this process, one at a time
            yield Progress(f"{cell}: waiting for another evaluation", 0, 0, pause=POLL_EVERY)
        self.evaluating = True
        try:
            subject = kinds.Subject(model_names.find(model), EVALUATED)
            scored = [(run_results.scored(subject.found), subject)]
            found = yield from evaluation(scored, tasks_of(self.plan), Options())
        except StrataError as error:
            self._failed(f"{cell}, evaluation", str(error))
        else:
            self.put(missing=tuple(dict.fromkeys((*self.status.missing, *found.missing))))
        finally:
            self.evaluating = False

    def _failed(self, what: str, error: str) -> None:
        self.put(failures={**self.status.failures, what: error})

    def _affordable(self, place: int) -> bool:
        """Whether the budget suffices for one more cell, with those that are trained now to their expected ends."""
        (seconds, steps), budget = spent(self.status.id, self.found), self.plan.budget
        for other in self.training:
            status = run.status() if (run := self.found[other]) is not None else Status()
            steps += max(0, self._steps(other) - status.step)
            seconds += max(0.0, self._expected(other) - status.seconds)
        if budget.steps is not None and steps + self._steps(place) > budget.steps:
            return False
        return budget.minutes is None or budget.minutes * 60 - seconds > self._expected(place)

    def _all_expected(self, place: int) -> bool:
        """Whether it is known how long one more cell takes, and those that are trained now, if there are any."""
        return not self.training or all(self._expected(one) for one in (place, *self.training))

    def _steps(self, place: int) -> int:
        """The least number of steps of a cell."""
        return sum(max(1, one.schedule().steps) for one in self.every[place].recipe.chain)

    def _expected(self, place: int) -> float:
        """The seconds that a cell is expected to take: those of others of its row, else what was estimated.

        The estimate is corrected by how long other rows took.
        """
        row = self.every[place].row
        took: dict[str, list[float]] = {}
        for run, cell in zip(self.found, self.every, strict=True):
            if run is not None and is_of_plan(run, self.status.id) and is_finished(run):
                took.setdefault(cell.row, []).append(run.status().seconds)
        if row in took:
            return max(took[row])
        estimated = self.status.expected
        known = [max(took[one]) / estimated[one] for one in took if estimated.get(one)]
        return estimated.get(row, 0.0) * (fmean(known) if known else 1.0)


def _begun(plan: Plan, own: str, cell: PlanCell, run: runs.Run | None) -> runs.Run:
    """The run of a cell, waiting to be trained: a new one, or one that was interrupted, stopped or failed."""
    if run is not None:
        if not run.status().live:  # else it waits in this process
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
