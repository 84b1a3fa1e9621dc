"""The table of a plan as text and as JSON: the rows of the bases, then one for each method and setting."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial

from explorer.data import sources
from explorer.encoding.read.readings import MODEL_DEFAULT
from explorer.evaluating.results.result_table import MeanScore as Score
from explorer.studies.plans.plan import NO_TEST
from explorer.studies.plans.plan_table import BASE, DEV, TEST, Base, PlanRow, PlanTable

ROW, SEEDS, DEV_SET, TEST_SET = "row", "seeds", "dev set", "test set"
BEFORE, GAIN, SECONDS, PER_POINT, MEMORY = (
    "base, trained layer & pooling", "difference to the base", "seconds", "seconds per point", "memory (GB)",
)  # fmt: skip


def written(found: PlanTable) -> tuple[list[str], list[list[str]]]:
    """Header and rows as text; an empty cell is a number that is not there."""
    keys = columns(found)
    one_of = {TEST: found.sets[1], DEV: found.sets[0]}
    header = [f"{key} ({sources.shown(names[0])})" if len(names := one_of.get(key, ())) == 1 else key for key in keys]
    every = [*map(partial(_base_cells, found), found.base_rows), *map(partial(_cells, found), found.rows)]
    return header, [[cells.get(key, "") for key in keys] for cells in every]


def columns(found: PlanTable) -> list[str]:
    """The columns of the table by name; sets have columns of their own if not all rows have the same."""
    several = [DEV_SET, TEST_SET] if max(map(len, found.sets)) > 1 else []
    return [ROW, SEEDS, *several, BEFORE, TEST, GAIN, DEV, *found.tasks, SECONDS, PER_POINT, MEMORY]


def _base_cells(found: PlanTable, base: Base) -> dict[str, str]:
    """The row of a base: what is subtracted from the scores of its runs."""
    of_tasks = found.bases.get(base.model, {})
    return {
        ROW: f"{BASE} {sources.shown(base.model)} ({MODEL_DEFAULT})",
        DEV_SET: sources.shown(base.dev_set),
        TEST_SET: sources.shown(base.test_set),
        TEST: _number(base.test),
        DEV: _number(base.dev),
        **{task: _number(of_tasks.get(task)) for task in found.tasks},
    }


def _cells(found: PlanTable, row: PlanRow) -> dict[str, str]:
    recipe = row.cells[0].cell.recipe
    told = {BEFORE: row.before, GAIN: row.gain, **{name: row.score(name) for name in (TEST, DEV, *found.tasks)}}
    return {
        ROW: row.label,
        SEEDS: f"{sum(one.done is not None for one in row.cells)} of {len(row.cells)}",
        DEV_SET: sources.shown(recipe.dev),
        TEST_SET: sources.shown(recipe.test or NO_TEST),
        **{name: _text(score) for name, score in told.items()},
        SECONDS: _number(row.seconds, 0),
        PER_POINT: _number(row.seconds_per_point, 1),
        MEMORY: _number(None if row.memory is None else row.memory / 1e9),
    }


def as_json(found: PlanTable) -> dict[str, object]:
    """Every number of the table, unrounded, and the run of every cell."""
    rows = [
        {
            "row": row.label,
            "dev_set": row.cells[0].cell.recipe.dev,
            "test_set": row.cells[0].cell.recipe.test,
            "before": _parts(row.before),
            "test": _parts(row.score(TEST)),
            "dev": _parts(row.score(DEV)),
            "difference": row.gain and [row.gain.mean, row.gain.low, row.gain.high],
            "tasks": {task: _parts(row.score(task)) for task in found.tasks},
            "seconds": row.seconds,
            "seconds_per_point": row.seconds_per_point,
            "memory": row.memory,
            "runs": [{"seed": one.cell.seed, "run": one.run and one.run.name, "state": one.state} for one in row.cells],
        }
        for row in found.rows
    ]
    return {
        "plan": found.plan.name,
        "dev_sets": found.sets[0],
        "test_sets": found.sets[1],
        "measures": found.measures,
        "done": found.done,
        "trainings": found.total,
        "tasks": {label: {"data": task.data, "settings": dict(task.settings)} for label, task in found.tasks.items()},
        "bases": found.bases,
        "base_rows": [asdict(one) for one in found.base_rows],
        "rows": rows,
        "unmeasured": found.unmeasured,
    }


def _parts(score: Score | None) -> list[float | None] | None:
    return None if score is None else [score.mean, score.std]


def _text(part: object) -> str:
    return "" if part is None else str(part)


def _number(value: float | None, digits: int = 2) -> str:
    return "" if value is None else f"{value:,.{digits}f}"
