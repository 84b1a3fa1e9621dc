"""Estimate the cost of what is left of a plan, and how many of its trainings fit on the GPUs at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from explorer import fair_share, in_words
from explorer.encoding.load import hardware
from explorer.errors import BadChoice, StrataError
from explorer.progress import Progress, Work
from explorer.studies.plans.plan import Plan, PlanCell, cells, tasks_of
from explorer.studies.recipe_runs import RecipeRuns, is_finished

if TYPE_CHECKING:
    from explorer.training.loop.measured_facts import Estimate

BEGINNING = 15.0  # seconds until a process of its own trains: it loads the libraries first
CONTEXT = 600 * 2**20  # bytes that a process has on a GPU before its first tensor
RESERVE = 1.5  # of the memory of a step: an evaluation may need more, and freed blocks are kept in pieces


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
    loaded: int = 0  # bytes of the largest encoder and its copy, which come on top of what a step needs

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
    seconds, evaluating, memory, kept, working, steps, loaded = 0.0, 0.0, 0, 0, 0, 0, 0
    failures: dict[str, str] = {}
    for place, (row, left) in enumerate(rows.items()):
        yield Progress(f"one step of {row}", place, len(rows))
        try:
            if left[0].recipe.trains:
                one, loading = yield from _timed(try_out(left[0].recipe))
                seconds, memory = seconds + (loading + one.seconds) * len(left), max(memory, one.memory)
                evaluating += one.evaluating * len(left)
                kept, steps = kept + one.kept * len(left), steps + one.steps * len(left)
                working, loaded = max(working, one.disk), max(loaded, 2 * 4 * one.weights)
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
        loaded=loaded,
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


def number_at_once(plan: Plan, estimated: Callable[[Plan], Work[PlanEstimate]] = estimate) -> Work[int]:
    """How many trainings of a plan run at once if no number is stated: on GPUs as many as fit, if that saves time."""
    try:
        devices = {hardware.device(cell.recipe.device) for cell in cells(plan)}
    except BadChoice:  # one that is not there is an error of each training
        return 1
    if devices != {"cuda"}:
        return 1  # each uses all cores: two with half of them took 0.80 to 0.93 of the time, and 1.2 times the work
    found = yield from estimated(plan)
    return that_fit(found, hardware.free_on_each_gpu(), fair_share.at_start())


def that_fit(found: PlanEstimate, free: Sequence[int], cores: int) -> int:
    """How many trainings fit in the free bytes of each GPU, with two cores for each; 1 if more would save no time."""
    left = found.cells - found.measured
    needed = int(found.memory * RESERVE + found.loaded + CONTEXT)
    each = min(room // needed for room in free)
    most = min(each * len(free), cores // 2, left)
    return most if most > 1 and found.seconds / left * (most - 1) > BEGINNING else 1
