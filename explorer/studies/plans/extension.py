"""Work off a plan; one that gives advice is extended as far as its time limit allows.

First every method that fits is trained on all rows with one seed. What is left of the time limit is used for what tells
most then: further seeds, a half and a quarter of the rows for the best method, another learning rate for it, and again
seeds. All of them are rows and seeds of one plan, which is stopped, resumed and shown like every plan.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from explorer.progress import Work
from explorer.studies.plans import amounts, execution, plan_table
from explorer.studies.plans.advice import PARTS, Advice, has_part, of_folder
from explorer.studies.plans.plan import Plan, Variant
from explorer.studies.plans.plan_folder import FINISHED, STOPPED, PlanFolder, PlanStatus
from explorer.studies.plans.plan_table import DEV, TEST, PlanRow, PlanTable
from explorer.studies.recipe_runs import is_finished, is_of_plan
from explorer.training import running
from explorer.training.record.runs import Run

MOST_SEEDS = 30
OTHER_RATE = 3.0  # by which the learning rate of the best method is raised, or lowered if nothing was gained


def execute(
    folder: PlanFolder, train: execution.Train = running.train, at_once: execution.AtOnce = execution.one_by_one
) -> Work[PlanStatus]:
    """Work off any plan; one that gives advice is extended as long as its time limit allows.

    Seeds that the time limit did not allow for every method are taken out, since a mean over other seeds would mislead.
    """
    status: PlanStatus = yield from execution.execute(folder, train, at_once)
    advice, done = of_folder(folder), -1
    while advice is not None and status.state == FINISHED:
        plan = folder.plan()
        found = plan_table.table(plan)
        seeds, more = whole_seeds(found, advice) or plan.seeds, _extended(found, advice, status)
        if folder.stop_requested() and (more or seeds != plan.seeds):  # between two of its parts
            status = replace(status, state=STOPPED)
            folder.put(status)
        elif seeds != plan.seeds:
            folder.redefine(replace(plan, seeds=seeds))
        elif more is not None and found.done > done:  # what was added last could be trained
            # before they are rows of the plan: it may be killed in between, and keeps the limit by what is expected
            folder.put(replace(status, expected={**status.expected, **more.expected}))
            folder.redefine(more.plan)
        else:
            break
        done = found.done
        if status.state == FINISHED:
            status = yield from execution.execute(folder, train, at_once)
    return status


def trials(found: PlanTable, advice: Advice) -> list[PlanRow]:
    """The rows that an answer is chosen from, with the seeds that all of them have: every method and learning rate."""
    seeds, fewer = whole_seeds(found, advice), _rows_stated(found.plan)
    every = (
        replace(row, cells=tuple(cell for cell in row.cells if cell.seed in seeds))
        for row in found.rows
        if row.label not in fewer
    )
    return [row for row in every if row.cells and row.verdict is not None]


def best_row(found: PlanTable, advice: Advice) -> PlanRow | None:
    """Of the trials whose models moved, the one with the highest dev score; None before one has it.

    Where folds choose, there is no other score than that of the rows that they judge.
    """
    column = TEST if advice.data.is_folded else DEV
    moved = (row for row in trials(found, advice) if row.nothing < len(row.cells))
    scores = [(score.mean, row) for row in moved if (score := row.score(column)) is not None]
    return max(scores, key=lambda one: one[0])[1] if scores else None


def whole_seeds(found: PlanTable, advice: Advice) -> tuple[int, ...]:
    """The seeds with which every method was trained that could be trained at all."""
    rows = [row for row in found.rows if row.label in advice.costs]
    done = [{cell.seed for cell in row.cells if cell.done} for row in rows]
    trained = [seeds for seeds in done if seeds]
    return tuple(seed for seed in found.plan.seeds if all(seed in seeds for seeds in trained)) if trained else ()


def other_models(found: PlanTable, status: PlanStatus, keep: str) -> list[Run]:
    """The runs that were trained for an answer and have a model, but for the one whose model it is of (`keep`).

    Runs that other plans had trained before are not its own.
    """
    own = (cell.run for row in found.rows for cell in row.cells if cell.run is not None)
    every = {run.name: run for run in own if run.has_model and is_of_plan(run, status.id) and is_finished(run)}
    return [run for name, run in every.items() if name != keep]


def _rows_stated(plan: Plan) -> list[str]:
    """The labels of the rows of a plan with fewer training rows than its first."""
    most = plan.variants[0].settings.get("rows") if plan.variants else None
    return [one.label for one in plan.variants if one.settings.get("rows") != most]


@dataclass(frozen=True)
class Extension:
    """A plan with something more, and the seconds of a training for each of the new rows."""

    plan: Plan
    seconds: float  # of all its new trainings
    expected: Mapping[str, float] = field(default_factory=dict)


def _extended(found: PlanTable, advice: Advice, status: PlanStatus) -> Extension | None:
    """The first extension that is expected to end within the time limit; None if there is none."""
    minutes = found.plan.budget.minutes
    taken, _ = execution.spent(status.id, [cell.run for row in found.rows for cell in row.cells])
    left = math.inf if minutes is None else minutes * 60 - taken
    return next((one for one in _extensions(found, advice) if one.seconds < left), None)


def _extensions(found: PlanTable, advice: Advice) -> Iterator[Extension]:
    """What can be added to a plan, what tells most first."""
    plan, seeds = found.plan, len(found.plan.seeds)
    took = {row.label: max((one.done.seconds for one in row.cells if one.done), default=0.0) for row in found.rows}
    more = Extension(replace(plan, seeds=(*plan.seeds, max(plan.seeds) + 1)), sum(took.values()))
    if seeds < amounts.FIRST_SEEDS:
        yield more
    for variant, of, share in _further(found, advice):
        seconds = took[of] * share
        wider = replace(plan, variants=(*plan.variants, variant))
        yield Extension(wider, seconds * seeds, {variant.label: seconds})
    if amounts.FIRST_SEEDS <= seeds < MOST_SEEDS:
        yield more


def _further(found: PlanTable, advice: Advice) -> Iterator[tuple[Variant, str, float]]:
    """The best method on fewer rows and with another learning rate, as far as the plan lacks them.

    With each the row that it is like, and its share of the updates. With one seed, a difference between numbers of rows
    could not be told from chance, so there are none then.
    """
    plan, every = found.plan, {one.label: one for one in found.plan.variants}
    tested, best, fewer = trials(found, advice), best_row(found, advice), _rows_stated(found.plan)
    if (
        best is not None
        and len(plan.seeds) > 1
        and all(every[label].method == every[best.label].method for label in fewer)
    ):
        for part in PARTS:
            if has_part(advice, part):
                variant, share = _part(every[best.label], advice, part)
                if variant.label not in every:
                    yield variant, best.label, share
    like = best or next(iter(tested), None)
    if like is not None and len(every) - len(fewer) == len(advice.costs):  # no second learning rate yet
        gained = best is not None and best.verdict is not None and best.verdict.known[2] > 0
        rate = float(f"{like.cells[0].recipe.schedule().learning_rate * OTHER_RATE ** (1 if gained else -1):.1e}")
        given = every[like.label]
        settings = {**given.settings, "learning_rate": rate}
        yield replace(given, label=f"{like.label}, learning rate {rate:g}", settings=settings), like.label, 1.0


def _part(whole: Variant, advice: Advice, part: int) -> tuple[Variant, float]:
    """A method on a half or a quarter of the rows, and its share of the updates: of a small text it has all of them."""
    if advice.amount.rows == advice.data.rows:
        rows = f"{100 // part} %"
        label = f"{whole.label}, {rows} of the rows"
    else:
        rows = str(advice.costs[whole.method or whole.label].own(advice.amount.rows // part))
        label = f"{whole.label}, {rows} rows"
    share = 1 / part if amounts.is_large(advice.data) else 1.0
    return replace(whole, label=label, settings={**whole.settings, "rows": rows}), share
