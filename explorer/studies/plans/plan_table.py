"""The table of a plan, from the folders of its runs and from saved results: a row for each method and setting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from explorer.encoding.locate import model_names
from explorer.encoding.read.readings import MODEL_DEFAULT
from explorer.errors import StrataError
from explorer.evaluating import suites
from explorer.evaluating.results import result_files
from explorer.evaluating.results.result_table import Cell as Score
from explorer.evaluating.suites import Options
from explorer.run_folder import model_name
from explorer.studies.plans.execution import tasks_of
from explorer.studies.plans.plan import Cell, Plan, cells
from explorer.studies.recipe_runs import RecipeRuns
from explorer.training.record import status as statuses
from explorer.training.record.run_origin import scored
from explorer.training.record.runs import Run
from explorer.training.record.status import Status

FINISHED, MISSING = statuses.FINISHED, "not trained"
BASE, BEFORE, TEST, DEV, GAIN, SECONDS, PER_POINT, MEMORY = (
    "base", "base, trained layer & pooling", "test", "dev", "difference to the base", "seconds", "seconds per point",
    "memory (GB)",
)  # fmt: skip


@dataclass(frozen=True)
class Gain:
    """A difference of test scores to the base under its model default, with the widest of the seeds' 95 % intervals."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:+.2f} ({self.low:.2f} to {self.high:.2f})"


@dataclass(frozen=True)
class Trained:
    """One cell: its run, if there is one, and the run's state."""

    cell: Cell
    run: Run | None
    status: Status | None

    @property
    def state(self) -> str:
        """The state of the run, or that there is none."""
        return MISSING if self.status is None else self.status.state

    @property
    def done(self) -> Status | None:
        """The status of a finished run."""
        return self.status if self.status is not None and self.status.state == FINISHED else None


@dataclass(frozen=True)
class Row:
    """A row: the cells that differ by their seed, and the scores of tasks by seed."""

    label: str
    cells: tuple[Trained, ...]
    tasks: Mapping[str, tuple[float | None, ...]]

    def score(self, column: str) -> Score | None:
        """A score over all seeds; None if a seed lacks it, since a mean of some would mislead."""
        if column in self.tasks:
            return _score(self.tasks[column])
        return _score([_of_run(one.done, column) for one in self.cells])

    @property
    def before(self) -> Score | None:
        """The base's test score under the layer & pooling that is trained, which need not be its model default."""
        found = _score([_of_run(one.done, TEST, "same_reading_base") for one in self.cells])
        return found and (found if found.std else Score(found.mean, None))  # a layer has no seed, a new pooler has

    @property
    def gain(self) -> Gain | None:
        """The difference to the base on the test set."""
        tests = [one.done.verdict.test if one.done and one.done.verdict else None for one in self.cells]
        found = [(each.difference, each.low, each.high) for each in tests if each is not None]
        whole = [
            (gap, low, high) for gap, low, high in found if gap is not None and low is not None and high is not None
        ]
        if not whole or len(whole) < len(self.cells):
            return None
        gaps, lows, highs = zip(*whole, strict=True)
        return Gain(fmean(gaps), min(lows), max(highs))

    @property
    def seconds(self) -> float | None:
        """Seconds of one training, the mean over seeds."""
        done = [one.done.seconds for one in self.cells if one.done]
        return fmean(done) if done else None

    @property
    def memory(self) -> int | None:
        """Bytes that a step on the longest rows needs, as measured before the training."""
        found = [one.done.facts.memory for one in self.cells if one.done and one.done.facts.memory]
        return max(found, default=None)

    @property
    def seconds_per_point(self) -> float | None:
        """Seconds of training for one point above the base; None unless the gain is significant for every seed."""
        gain = self.gain
        return self.seconds / gain.mean if gain and self.seconds is not None and gain.low > 0 else None


@dataclass(frozen=True)
class PlanTable:
    """Every row of a plan, and the base models on its tasks."""

    plan: Plan
    rows: tuple[Row, ...]
    bases: Mapping[str, Mapping[str, float | None]]  # by model, then by task

    @property
    def done(self) -> int:
        """How many trainings are finished."""
        return sum(one.done is not None for row in self.rows for one in row.cells)

    @property
    def total(self) -> int:
        """How many there are."""
        return sum(len(row.cells) for row in self.rows)


def table(plan: Plan) -> PlanTable:
    """The table as it stands now."""
    every = cells(plan)
    tasks = tasks_of(plan)
    saved = _saved() if tasks else {}
    by_row: dict[str, list[Trained]] = {}
    for cell, run in zip(every, RecipeRuns().of([cell.recipe for cell in every], f"{plan.name}-"), strict=True):
        by_row.setdefault(cell.row, []).append(Trained(cell, run, run.status() if run else None))
    rows = tuple(Row(label, tuple(found), _by_task(found, tasks, saved)) for label, found in by_row.items())
    bases = {model: {_column(task): _saved_score(saved, model, task) for task in tasks} for model in plan.models}
    return PlanTable(plan, rows, bases if tasks else {})


def written(found: PlanTable) -> tuple[list[str], list[list[str]]]:
    """Header and rows as text; an empty cell is a number that is not there."""
    tasks = [_column(task) for task in tasks_of(found.plan)]
    header = ["row", "seeds", BEFORE, TEST, GAIN, DEV, *tasks, SECONDS, PER_POINT, MEMORY]
    lines = [[f"{BASE} {model}", "", "", "", "", "", *(_number(scores[task]) for task in tasks), "", "", ""]
             for model, scores in found.bases.items()]  # fmt: skip
    for row in found.rows:
        done = sum(one.done is not None for one in row.cells)
        lines.append([
            row.label,
            f"{done} of {len(row.cells)}",
            *map(_text, (row.before, row.score(TEST), row.gain, row.score(DEV), *map(row.score, tasks))),
            _number(row.seconds, 0),
            _number(row.seconds_per_point, 1),
            _number(None if row.memory is None else row.memory / 1e9),
        ])  # fmt: skip
    return header, lines


def as_json(found: PlanTable) -> dict[str, object]:
    """Every number of the table, unrounded, and the run of every cell."""
    tasks = [_column(task) for task in tasks_of(found.plan)]
    rows = [
        {
            "row": row.label,
            "before": _parts(row.before),
            "test": _parts(row.score(TEST)),
            "dev": _parts(row.score(DEV)),
            "difference": row.gain and [row.gain.mean, row.gain.low, row.gain.high],
            "tasks": {task: _parts(row.score(task)) for task in tasks},
            "seconds": row.seconds,
            "seconds_per_point": row.seconds_per_point,
            "memory": row.memory,
            "runs": [{"seed": one.cell.seed, "run": one.run and one.run.name, "state": one.state} for one in row.cells],
        }
        for row in found.rows
    ]
    return {"plan": found.plan.name, "done": found.done, "trainings": found.total, "bases": found.bases, "rows": rows}


def _of_run(status: Status | None, column: str, which: str = "exported") -> float | None:
    """The score of the exported model, or another one, on the run's test or dev set."""
    outcome = status.verdict and getattr(status.verdict, column) if status else None
    score: float | None = getattr(outcome, which) if outcome else None
    return score


def _by_task(
    found: Sequence[Trained], tasks: Sequence[str], saved: Mapping[tuple[str, str, str], float]
) -> dict[str, tuple[float | None, ...]]:
    return {
        _column(task): tuple(
            _saved_score(saved, model_name(one.run.name), task) if one.run and one.done else None for one in found
        )
        for task in tasks
    }


def _saved() -> dict[tuple[str, str, str], float]:
    """The main score of every saved result under the model default, by model, revision and task."""
    return {
        (one.model.name, one.model.revision, one.measured.task): one.measured.score(MODEL_DEFAULT)
        for one in result_files.read_all()
    }


def _saved_score(saved: Mapping[tuple[str, str, str], float], model: str, task: str) -> float | None:
    try:
        named = scored(model_names.find(model))
    except StrataError:
        return None
    return saved.get((named.name, named.revision, _column(task)))


def _column(task: str) -> str:
    return suites.column(task, Options())


def _score(scores: Sequence[float | None]) -> Score | None:
    known = [score for score in scores if score is not None]
    if not known or len(known) < len(scores):
        return None
    return Score(fmean(known), stdev(known) if len(known) > 1 else None)


def _parts(score: Score | None) -> list[float | None] | None:
    return None if score is None else [score.mean, score.std]


def _text(part: object) -> str:
    return "" if part is None else str(part)


def _number(value: float | None, digits: int = 2) -> str:
    return "" if value is None else f"{value:,.{digits}f}"
