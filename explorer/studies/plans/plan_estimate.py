"""Estimate what a plan takes: one trial step of each row before it begins, and from its finished trainings after."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from explorer import in_words
from explorer.errors import StrataError
from explorer.progress import Progress, Work
from explorer.studies.plans.plan import Plan, PlanCell, cells
from explorer.studies.plans.plan_table import PlanTable
from explorer.studies.recipe_runs import RecipeRuns
from explorer.training.record import status as statuses
from explorer.training.record.status import Status

if TYPE_CHECKING:
    from explorer.training.loop.measured_facts import Estimate


@dataclass(frozen=True)
class PlanEstimate:
    """The cost of what is left of a plan; the evaluation on its tasks comes on top."""

    cells: int  # trainings in all
    measured: int  # of them finished
    seconds: float  # of the others, if all could be estimated
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
        text += f"; {in_words.size(self.memory)} of memory, {in_words.size(self.disk)} on disk at most"
        text += f"; evaluation on {self.tasks} task{'s' * (self.tasks != 1)} comes on top" if self.tasks else ""
        if self.minutes is not None and self.seconds > self.minutes * 60:
            text += f"; the budget of {self.minutes:g} min does not suffice for all of them"
        return text


def estimate(plan: Plan) -> Work[PlanEstimate]:
    """Try one step of each row that has something left to train."""
    from explorer.studies.plans.execution import tasks_of
    from explorer.training.loop.estimate import try_out

    every = cells(plan)
    found = RecipeRuns().of([cell.recipe for cell in every])
    done = [run is not None and run.status().state == statuses.FINISHED for run in found]
    rows: dict[str, list[PlanCell]] = {}
    for cell, finished in zip(every, done, strict=True):
        if not finished:
            rows.setdefault(cell.row, []).append(cell)
    seconds, memory, kept, working, steps = 0.0, 0, 0, 0, 0
    failures: dict[str, str] = {}
    for place, (row, left) in enumerate(rows.items()):
        yield Progress(f"one step of {row}", place, len(rows))
        try:
            if left[0].recipe.kind.trains():
                one, loading = yield from _timed(try_out(left[0].recipe))
                seconds, memory = seconds + (loading + one.seconds) * len(left), max(memory, one.memory)
                kept, steps = kept + one.kept * len(left), steps + one.steps * len(left)
                working = max(working, one.disk)
        except StrataError as error:
            failures[row] = str(error)
    return PlanEstimate(
        len(every),
        sum(done),
        seconds,
        memory,
        working + kept,
        steps,
        failures,
        len(tasks_of(plan)),
        plan.budget.minutes,
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


def seconds_left(found: PlanTable, left_out: int = 0) -> float | None:
    """The seconds that the other trainings take, each as long as its row's, or as all rows' mean; None before one."""
    by_row = {row.label: row.seconds for row in found.rows if row.seconds is not None}
    if not by_row:
        return None
    mean = fmean(by_row.values())
    left = [
        max(0.0, by_row.get(row.label, mean) - _spent(one.status))
        for row in found.rows
        for one in row.cells
        if one.done is None
    ]
    left = sorted(left)[: max(0, len(left) - left_out)]
    return sum(left)


def _spent(status: Status | None) -> float:
    """The seconds of a training that is under way or was stopped."""
    return status.seconds if status is not None else 0.0
