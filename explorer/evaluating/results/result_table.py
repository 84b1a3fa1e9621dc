"""Results as a table of models × tasks: mean and standard deviation over seeds, averages, rank groups."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from explorer.data import sources
from explorer.data.text_sets import digest_of
from explorer.encoding.read.pooling import MODEL_DEFAULT
from explorer.evaluating.measured import COSTS, Measured
from explorer.evaluating.results import scored_task
from explorer.evaluating.results.rank_groups import Contender, Ranking, ranking
from explorer.evaluating.results.result_files import Result, ScoredModel
from explorer.evaluating.results.scored_task import ScoredTask


@dataclass(frozen=True)
class MeanScore:
    """A score × 100: the mean over seeds, and their standard deviation if there are several."""

    mean: float
    std: float | None = None

    def __str__(self) -> str:
        return f"{self.mean:.2f}" if self.std is None else f"{self.mean:.2f} ± {self.std:.2f}"


@dataclass(frozen=True, eq=False)
class ModelRow:
    """A row: a model, or the runs of one recipe that differ by their seed."""

    name: str
    runs: tuple[Mapping[str, Measured], ...]  # of each seed, by the digest of the task
    key: str = ""  # what the row is of, whatever it is called
    base: str = ""  # of a model that was trained

    def has(self, task: ScoredTask) -> bool:
        """Whether a seed was scored on a task."""
        return any(task.digest in run for run in self.runs)

    def first(self, task: ScoredTask) -> Measured | None:
        """What the first seed has on a task."""
        return self.runs[0].get(task.digest)

    def cell(self, task: ScoredTask, title: str = MODEL_DEFAULT, measure: str | None = None) -> MeanScore | None:
        """The score on a task; None if a seed lacks it, or has no such measure."""
        if len(self.runs) == 1:
            return _cell(_of_seeds(self.first(task), title, measure))
        return _cell([_score(run.get(task.digest), title, measure) for run in self.runs])

    def average(
        self, tasks: Sequence[ScoredTask], title: str = MODEL_DEFAULT, measure: str | None = None
    ) -> MeanScore | None:
        """The average over tasks; None unless every seed has every task."""
        of_seeds = [[_score(run.get(task.digest), title, measure) for task in tasks] for run in self.runs]
        known = [[score for score in scores if score is not None] for scores in of_seeds]
        if not tasks or any(len(scores) < len(tasks) for scores in known):
            return None
        return _cell([fmean(scores) for scores in known])


def models(results: Sequence[Result]) -> tuple[ModelRow, ...]:
    """The rows of a table, by name; runs of one recipe are one row.

    Models of one name whose files differ, such as two revisions, are rows of their own; so are two of one recipe and
    seed. What a run scored itself, without a digest of its model, is in the row of its recipe.
    """
    found: dict[tuple[str, str], dict[str, dict[str, Measured]]] = {}
    models: dict[tuple[str, str], ScoredModel] = {}  # the first of each row
    same_seed: dict[tuple[str, int | None], list[str]] = {}
    for result in results:
        model, made = result.model, result.model.origin
        digest, key = model.digest, (model.name, model.digest)
        if made.recipe:
            # a run without a digest of its model is the model of its recipe and seed, else known by its name
            known = same_seed.setdefault((made.recipe, made.seed), [digest or model.name])
            digest = digest or known[0]
            known += [] if digest in known else [digest]
            key = (made.recipe, str(known.index(digest)))
        models.setdefault(key, model)
        found.setdefault(key, {}).setdefault(digest, {})[result.task.digest] = result.measured
    names = [_named(model, len(found[key])) for key, model in models.items()]
    names = [
        f"{name} ({model.name})" if model.origin.recipe and names.count(name) > 1 else name
        for name, model in zip(names, models.values(), strict=True)
    ]
    for mark in ("revision", "digest"):
        names = [
            f"{name} ({getattr(model, mark)[:14]})" if names.count(name) > 1 else name
            for name, model in zip(names, models.values(), strict=True)
        ]
    return tuple(
        ModelRow(name, tuple(runs.values()), digest_of(key), model.origin.base if model.origin.recipe else "")
        for name, model, (key, runs) in zip(names, models.values(), found.items(), strict=True)
    )


def without_base(rows: Sequence[ModelRow], every: Sequence[ModelRow], tasks: Sequence[ScoredTask]) -> tuple[str, ...]:
    """The bases of these rows that no row of all results (`every`) has on each task of what was trained from them."""
    known = {sources.shown(row.name): row for row in every if not row.base}
    lacking = [
        row.base
        for row in rows
        if row.base
        and any(
            row.has(task) and not ((base := known.get(sources.shown(row.base))) and base.has(task)) for task in tasks
        )
    ]
    return tuple(dict.fromkeys(lacking))


def _named(first: ScoredModel, seeds: int) -> str:
    """The name of a model; of what was trained, its method and base: `simcse on all-MiniLM-L6-v2, 3 seeds`."""
    made = first.origin
    if not made.recipe:
        return first.name
    return f"{made.method} on {sources.shown(made.base)}" + (f", {seeds} seeds" if seeds > 1 else "")


def ranked(rows: Sequence[ModelRow], tasks: Sequence[ScoredTask]) -> Ranking | None:
    """The rank groups of the models that have every task; None if fewer than two do."""
    digests = [task.digest for task in tasks]
    whole = [row for row in rows if all(digest in run for run in row.runs for digest in digests)]
    return ranking(
        [Contender(row.name, tuple(tuple(run[digest] for digest in digests) for run in row.runs)) for row in whole]
    )


AVERAGE, GROUP = "average of {}", "rank group"


def cells(
    rows: Sequence[ModelRow],
    tasks: Sequence[ScoredTask],
    title: str = MODEL_DEFAULT,
    measure: str | None = None,
    letters: Mapping[str, str] | None = None,
) -> tuple[list[str], list[list[str]]]:
    """The table as text, header and rows: the best average, or score, first, and "" for what is missing.

    `letters` are the rank groups of models by name.
    """
    averages = {row.name: row.average(tasks, title, measure) for row in rows} if len(tasks) > 1 else {}
    last = [*([AVERAGE.format(len(tasks))] if averages else []), *([GROUP] if letters else [])]
    header = ["model", *scored_task.labels(tasks).values(), *last]
    table = []
    sign = 1 if measure in COSTS else -1
    for row in sorted(
        rows, key=lambda row: _place(sign, averages.get(row.name), *(row.cell(task, title, measure) for task in tasks))
    ):
        scores = [row.cell(task, title, measure) for task in tasks] + ([averages[row.name]] if averages else [])
        texts = ["" if score is None else str(score) for score in scores]
        table.append([row.name, *texts, *([letters.get(row.name, "")] if letters else [])])
    return header, table


def _place(sign: int, *scores: MeanScore | None) -> tuple[float, ...]:
    """What to sort by, so that the best scores come first and missing ones last."""
    return tuple(math.inf if score is None else sign * score.mean for score in scores)


def _score(measured: Measured | None, title: str, measure: str | None) -> float | None:
    if measured is None or (measure is not None and measure not in measured.measures):
        return None
    score = measured.score(title, measure)
    return score if math.isfinite(score) else None


def _of_seeds(measured: Measured | None, title: str, measure: str | None) -> list[float | None]:
    """The score of each seed of one result."""
    if measured is None or title not in measured.titles or (measure or measured.measures[0]) not in measured.measures:
        return [None]
    row, column = measured.titles.index(title), measured.measures.index(measure or measured.measures[0])
    return [float(score) if math.isfinite(score) else None for score in measured.table[row, column]]


def _cell(scores: Sequence[float | None]) -> MeanScore | None:
    known = [score for score in scores if score is not None]
    if not known or len(known) < len(scores):
        return None
    return MeanScore(fmean(known), stdev(known) if len(known) > 1 else None)
