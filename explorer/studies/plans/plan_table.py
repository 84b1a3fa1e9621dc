"""The rows of a plan's table, from the folders of its runs and from saved results, and as JSON.

First the rows of the bases, then one for each method and setting.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from statistics import fmean

from explorer import typed_json
from explorer.data.graded.sets import SetIdentity
from explorer.encoding.locate import model_names
from explorer.encoding.read.pooling import MODEL_DEFAULT
from explorer.errors import StrataError
from explorer.evaluating.results import result_files, scored_task
from explorer.evaluating.results.result_table import mean_score, so_far
from explorer.evaluating.results.table_formats import Number
from explorer.evaluating.tasks import column_of
from explorer.measuring.scores.judge import Gap
from explorer.measuring.scores.metrics import SPEARMAN, measure_in_words
from explorer.measuring.scores.verdict import BETTER, ElsewhereVerdict, RunVerdict, Verdict
from explorer.run_folder import model_name
from explorer.studies.plans import plan_folder
from explorer.studies.plans.execution import name_of
from explorer.studies.plans.plan import NO_TEST, Plan, PlanCell, cells, sets_of, tasks_of
from explorer.studies.plans.seeds import needed_over_seeds, over_seeds
from explorer.studies.recipe_runs import RecipeRuns
from explorer.training.loop.elsewhere import named
from explorer.training.recipe import Recipe
from explorer.training.record.run_results import scored
from explorer.training.record.status import Status

BASE, TEST, DEV = "base", "test", "dev"
NOT_YET = "{}: the plan has not evaluated it yet."
WITHOUT = "{}: no result with the plan's data and settings, of {}. Resume the plan to evaluate them."


@dataclass(frozen=True)
class PlanRow:
    """A row: the cells that differ by their seed, and the scores of tasks by seed."""

    label: str
    cells: tuple[PlanCell, ...]
    tasks: Mapping[str, tuple[float | None, ...]]  # by the label of the task

    def score(self, column: str) -> Number | None:
        """A score over all seeds; None if a seed lacks it, since a mean of some would mislead."""
        if column in self.tasks:
            return mean_score(self.tasks[column])
        return mean_score([_of_run(one.done, column) for one in self.cells])

    def so_far(self, column: str) -> Number | None:
        """The same of the seeds that have it, with how many lack it."""
        if column in self.tasks:
            return so_far(self.tasks[column])
        return so_far([_of_run(one.done, column) for one in self.cells])

    @property
    def before(self) -> Number | None:
        """The base's test score under the layer & pooling that is trained, which need not be its model default."""
        found = mean_score([_of_run(one.done, TEST, "before_as_trained") for one in self.cells])
        return found and (found if found.std else Number(found.mean, None))  # a layer has no seed, a new pooler has

    @property
    def verdict(self) -> Verdict | None:
        """The verdict on the test set: means over seeds, with the interval of `over_seeds`; None if a seed lacks it."""
        return _over_seeds([_of_test(one.done) for one in self.cells])

    @property
    def nothing(self) -> int:
        """With how many seeds nothing was learned."""
        return sum(one.done is not None and one.done.facts.nothing is not None for one in self.cells)

    @property
    def elsewhere(self) -> tuple[ElsewhereVerdict, ...]:
        """The same on each set that the runs were not trained for; without a set that a seed lacks."""
        of_seeds = [(one.done and one.done.verdict) or RunVerdict() for one in self.cells]
        found = []
        for first in of_seeds[0].elsewhere:
            if (verdict := _over_seeds([seed.on_items_of(first) for seed in of_seeds])) is not None:
                found.append(replace(first, verdict=verdict))
        return tuple(found)

    @property
    def seconds(self) -> float | None:
        """Seconds of one training, the mean over seeds."""
        done = [one.done.seconds for one in self.cells if one.done]
        return fmean(done) if done else None

    @property
    def memory(self) -> int | None:
        """Bytes that a step on the longest rows needs, as measured before the training."""
        found = [one.done.facts.estimate.memory for one in self.cells if one.done and one.done.facts.estimate]
        return max(found, default=None)

    @property
    def seconds_per_point(self) -> float | None:
        """Seconds of training for one point above the base; None unless the gain is significant for every seed."""
        if self.verdict is None or self.seconds is None or self.verdict.kind != BETTER:
            return None
        return self.seconds / self.verdict.known[2]


def _of_test(status: Status | None) -> Verdict | None:
    """The verdict of a run on its test set; where nothing was learned, the difference is the pooling's, and certain."""
    found = status.verdict.test if status and status.verdict else None
    if found is None or status is None or status.facts.nothing is None:
        return found
    gap = None if found.after is None or found.before is None else found.after - found.before
    return replace(found, difference=gap, low=gap, high=gap)


def _over_seeds(of_seeds: Sequence[Verdict | None]) -> Verdict | None:
    known = [one.known for one in of_seeds if one is not None and one.known]
    if not known or len(known) < len(of_seeds):
        return None
    before, after = (fmean(one[side] for one in known) for side in (0, 1))
    whole = over_seeds([Gap(*one[2:]) for one in known])
    parts = [one.training for one in of_seeds if one is not None and one.training is not None]
    training = over_seeds(parts) if len(parts) == len(of_seeds) else None
    every = [one.smallest_gain for one in of_seeds if one is not None and one.smallest_gain is not None]
    smallest = fmean(every) if len(every) == len(of_seeds) else None
    needed = needed_over_seeds([one for one in of_seeds if one is not None], whole.difference)
    return Verdict(
        *(before, None, after, whole.difference, whole.low, whole.high, training),
        smallest_gain=smallest,
        items_needed=needed,
    )


@dataclass(frozen=True)
class Base:
    """A base model under its model default, which the differences are to: its scores × 100 on a dev and a test set."""

    model: str
    dev_set: str
    test_set: str
    dev: float | None
    test: float | None


@dataclass(frozen=True)
class PlanTable:
    """Every row of a plan, and the base models on its tasks."""

    plan: Plan
    tasks: Mapping[str, scored_task.ScoredTask]  # by label
    rows: tuple[PlanRow, ...]
    bases: Mapping[str, Mapping[str, float | None]]  # by model, then by task
    unmeasured: tuple[str, ...]  # why scores of what is trained are missing
    task_measures: Mapping[str, str] = field(default_factory=dict)  # by task, of those with a result

    @property
    def done(self) -> int:
        """How many trainings are finished."""
        return sum(one.done is not None for row in self.rows for one in row.cells)

    @property
    def total(self) -> int:
        """How many there are."""
        return sum(len(row.cells) for row in self.rows)

    @property
    def sets(self) -> tuple[tuple[SetIdentity, ...], tuple[SetIdentity, ...]]:
        """The dev sets and the test sets of its rows, each once."""
        return sets_of([one for row in self.rows for one in row.cells])

    @property
    def measures(self) -> tuple[str, ...]:
        """What the test scores are, as far as runs have begun; Spearman before."""
        return self.measures_of(TEST) or (SPEARMAN,)

    def measures_of(self, use: str) -> tuple[str, ...]:
        """What the scores on the dev sets or the test sets are, as far as runs have begun."""
        begun = [one.status for row in self.rows for one in row.cells if one.status is not None]
        return tuple(dict.fromkeys(one.facts.measure_of(use) for one in begun))

    @property
    def unscored(self) -> dict[str, list[str]]:
        """The finished runs that lack a set elsewhere of the plan, such as those that were trained before it, by set.

        If none of the runs of its texts has a set that one of them was asked for, it is not missing: it was left out.
        """
        done = [
            (one, one.run.name, one.done)
            for row in self.rows
            for one in row.cells
            if one.run and one.done and one.done.facts.nothing is None  # else it has the scores of the base
        ]
        found: dict[str, list[str]] = {}
        for given in dict.fromkeys(one for row in self.rows for cell in row.cells for one in cell.recipe.elsewhere):
            for name in map(str, named((given,))):
                there = [_texts(one.recipe) for one, _, status in done if name in status.scored_elsewhere]
                asked = [_texts(one.recipe) for one, _, status in done if given in status.facts.elsewhere]
                for one, run, status in done:
                    texts = _texts(one.recipe)
                    if name not in status.scored_elsewhere and (texts in there or texts not in asked):
                        found.setdefault(name, []).append(run)
        return found

    @property
    def base_rows(self) -> tuple[Base, ...]:
        """Each base on each pair of sets, as the runs that are done have scored it."""
        found: dict[tuple[str, str, str], Base] = {}
        for one in (one for row in self.rows for one in row.cells):
            recipe = one.recipe
            key = recipe.model, str(recipe.dev), str(recipe.test or NO_TEST)
            scores = [_of_run(one.done, column, "before") for column in (DEV, TEST)]
            if key not in found or found[key].dev is None:
                found[key] = Base(*key, *scores)
        return tuple(found.values())


def table(plan: Plan) -> PlanTable:
    """The table as it stands now."""
    every, begun = cells(plan), plan_folder.standing(plan)
    of_plan = [begun.tasks.get(task) or scored_task.unscored(task, *column_of(task)) for task in tasks_of(plan)]
    by_digest = {task.digest: task for task in of_plan}  # equal ones once
    tasks = {label: by_digest[digest] for digest, label in scored_task.labels(of_plan).items()}
    scores = _Scores(tasks)
    by_row: dict[str, list[PlanCell]] = {}
    for cell, run in zip(every, RecipeRuns().of([cell.recipe for cell in every], begun.id), strict=True):
        by_row.setdefault(cell.row, []).append(replace(cell, run=run, status=run.status() if run else None))
    rows = tuple(PlanRow(label, tuple(found), scores.of_row(found)) for label, found in by_row.items())
    bases = {model: scores.of_model(model, f"{BASE} {model}") for model in plan.models} if tasks else {}
    return PlanTable(plan, tasks, rows, bases, scores.unmeasured(), scores.measures)


def _texts(recipe: Recipe) -> tuple[object, ...]:
    """What no set elsewhere may share a text with."""
    return recipe.data, recipe.dev, recipe.tests, tuple(one.data for one in recipe.stages)


def _of_run(status: Status | None, column: str, which: str = "after") -> float | None:
    """The score of the exported model, or another one, on the run's test or dev set."""
    outcome = status.verdict and getattr(status.verdict, column) if status else None
    score: float | None = getattr(outcome, which) if outcome else None
    return score


class _Scores:
    """Saved scores under the model default: those of a model's files with the data and settings of the plan."""

    def __init__(self, tasks: Mapping[str, scored_task.ScoredTask]) -> None:
        self._tasks = tasks
        self.measures: dict[str, str] = {}  # of the results that there are, by label of the task
        self._without: dict[str, list[str]] = {}  # what has no result, by label of the task

    def of_row(self, found: Sequence[PlanCell]) -> dict[str, tuple[float | None, ...]]:
        """The scores of each seed by task; None before it is trained and evaluated."""
        of_seeds = [self.of_model(model_name(one.run.name), name_of(one)) if one.run and one.done else {}
                    for one in found]  # fmt: skip
        return {label: tuple(scores.get(label) for scores in of_seeds) for label in self._tasks}

    def of_model(self, model: str, called: str) -> dict[str, float | None]:
        """The score of a model on each task; None if it was not evaluated on it."""
        try:
            named: result_files.ScoredModel | None = scored(model_names.find(model)) if self._tasks else None
        except StrataError:
            named = None
        found: dict[str, float | None] = {}
        for label, task in self._tasks.items():
            result = result_files.saved(named, task) if named is not None else None
            found[label] = None if result is None else result.measured.score(MODEL_DEFAULT)
            if result is None:
                self._without.setdefault(label, []).append(called)
            else:
                self.measures[label] = measure_in_words(result.measured.measures[0])
        return found

    def unmeasured(self) -> tuple[str, ...]:
        """A sentence for each task that lacks a result."""
        text = {label: WITHOUT if self._tasks[label].kind else NOT_YET for label in self._without}
        return tuple(text[label].format(label, "; ".join(called)) for label, called in self._without.items())


def as_json(found: PlanTable) -> dict[str, object]:
    """Every number of the table, unrounded, and the run of every cell."""
    rows = [
        {
            "row": row.label,
            "dev_set": str(row.cells[0].recipe.dev),
            "test_set": (test := row.cells[0].recipe.test) and str(test),
            "before": _parts(row.before),
            "test": _parts(row.score(TEST)),
            "dev": _parts(row.score(DEV)),
            "difference": row.verdict and row.verdict.known[2:],
            "nothing_learned": row.nothing,
            **({"elsewhere": typed_json.written(row.elsewhere)} if row.elsewhere else {}),
            "tasks": {task: _parts(row.score(task)) for task in found.tasks},
            "seconds": row.seconds,
            "seconds_per_point": row.seconds_per_point,
            "memory": row.memory,
            "runs": [{"seed": one.seed, "run": one.run and one.run.name, "state": one.state} for one in row.cells],
        }
        for row in found.rows
    ]
    return {
        "plan": found.plan.name,
        "dev_sets": [*map(str, found.sets[0])],
        "test_sets": [*map(str, found.sets[1])],
        "measures": found.measures,
        "done": found.done,
        "trainings": found.total,
        "tasks": {label: {"data": task.data, "settings": dict(task.settings)} for label, task in found.tasks.items()},
        "bases": found.bases,
        "base_rows": [asdict(one) for one in found.base_rows],
        "rows": rows,
        "unmeasured": found.unmeasured,
        "unscored_elsewhere": found.unscored,
    }


def _parts(score: Number | None) -> list[float | None] | None:
    return None if score is None else [score.mean, score.std]


def seconds_left(found: PlanTable, left_out: int = 0) -> float | None:
    """The seconds that the other trainings take, each as long as its row's, or as all rows' mean; None before one."""
    by_row = {row.label: row.seconds for row in found.rows if row.seconds is not None}
    if not by_row:
        return None
    mean = fmean(by_row.values())
    left = [
        max(0.0, by_row.get(row.label, mean) - (0.0 if one.status is None else one.status.seconds))
        for row in found.rows
        for one in row.cells
        if one.done is None
    ]
    left = sorted(left)[: max(0, len(left) - left_out)]
    return sum(left)
