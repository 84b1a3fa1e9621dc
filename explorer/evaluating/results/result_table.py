"""Results as a table of models × tasks, next to published scores.

A model has the mean and standard deviation over seeds and averages; a row of a paper has its scores, the difference of
measured ones to them, and what differs in the setting.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev

import numpy as np
from numpy.typing import NDArray

from explorer import in_words
from explorer.data import sources, text_sets
from explorer.data.graded import sts
from explorer.data.reference_scores import AGGREGATED, PrintedRow, PrintedScore, PrintedTable, tables
from explorer.data.tables.columns import plain
from explorer.encoding.read.pooling import MODEL_DEFAULT
from explorer.evaluating.results.result_files import Result, ScoredModel
from explorer.evaluating.results.scored_task import COSTS, SENTEVAL, Measured, Options, ScoredTask, labels
from explorer.evaluating.results.table_formats import Number, TableCell, TableColumn
from explorer.measuring.scores.metrics import ACCURACY, METRICS, measure_in_words

AVERAGE, GROUP = "average of {}", "rank group"
_OF_SEARCH = "MRR@10"
# GLUE's own measures, for a table that does not name its metrics
_OF_GLUE, _OF_OTHER_GLUE = {"GLUE CoLA": "Matthews"}, "accuracy"
Floats = NDArray[np.float64]
Runs = Sequence[Sequence[Measured]]  # (seed, task): the results of a model, trained once or with several seeds

MOST_RUNS = 3  # that the name of a row lists


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

    def cell(self, task: ScoredTask, title: str = MODEL_DEFAULT, measure: str | None = None) -> Number | None:
        """The score on a task, of the seeds that have it; None if none has, or has such a measure."""
        if len(self.runs) > 1:
            every = [_score(run.get(task.digest), title, measure) for run in self.runs]
            return so_far(every)
        found = self.first(task)
        if found is None or title not in found.titles or (measure or found.measures[0]) not in found.measures:
            return None
        of_seeds = found.table[found.titles.index(title), found.measures.index(measure or found.measures[0])]
        score = mean_score([float(score) if math.isfinite(score) else None for score in of_seeds])
        ends = found.ends.get(measure or found.measures[0]) if title == MODEL_DEFAULT else None
        return score if score is None or ends is None else replace(score, low=ends[0], high=ends[1])

    def average(
        self, tasks: Sequence[ScoredTask], title: str = MODEL_DEFAULT, measure: str | None = None
    ) -> Number | None:
        """The average over tasks; None unless every seed has every task, by measures of one name."""
        mains = {run[task.digest].measures[0] for run in self.runs for task in tasks if task.digest in run}
        if measure is None and len(mains) > 1:
            return None
        of_seeds = [[_score(run.get(task.digest), title, measure) for task in tasks] for run in self.runs]
        known = [[score for score in scores if score is not None] for scores in of_seeds]
        if not tasks or any(len(scores) < len(tasks) for scores in known):
            return None
        return mean_score([fmean(scores) for scores in known])


def models(results: Sequence[Result]) -> tuple[ModelRow, ...]:
    """The rows of a table: a model each, or the runs of one recipe that differ by their seed.

    A model is known by its weights. So models of one name whose files differ, such as two revisions, are rows of their
    own, and of several runs of one recipe and seed whose weights differ only the first by name is in the mean over
    seeds; runs with equal weights are one model. A run that trained with several seeds kept the best, and is in no
    mean.
    """
    scores: dict[tuple[str, str, str], dict[str, Measured]] = {}  # by recipe, or name, and model
    trained: dict[tuple[str, str], dict[int | None, dict[str, ScoredModel]]] = {}  # by recipe, or name, seed and model
    for result in results:
        model, made = result.model, result.model.origin
        group = made.recipe, "" if made.recipe else model.name
        scores.setdefault((*group, model.identity), {})[result.task.digest] = result.measured
        same_seed = trained.setdefault(group, {}).setdefault(made.seed, {})
        same_seed[model.identity] = min(same_seed.get(model.identity, model), model, key=_by_name)
    found: dict[tuple[str, str, str], list[ScoredModel]] = {}
    for group, by_seed in trained.items():
        for seed, of_seed in sorted(by_seed.items(), key=lambda one: (one[0] is None, one[0] or 0)):
            first, *others = sorted(of_seed.values(), key=_by_name)
            if seed is None:
                others = [first, *others]
            else:
                found.setdefault((*group, ""), []).append(first)
            found |= {(*group, one.identity): [one] for one in others}
    return tuple(
        ModelRow(
            name,
            tuple(scores[(*key[:2], one.identity)] for one in of_row),
            text_sets.digest_of(key),
            of_row[0].origin.base if of_row[0].origin.recipe else "",
        )
        for name, (key, of_row) in zip(row_names(list(found.values())), found.items(), strict=True)
    )


def _by_name(model: ScoredModel) -> tuple[int, str]:
    return len(model.name), model.name  # run:simcse-2 before run:simcse-10


def row_names(rows: Sequence[Sequence[ScoredModel]]) -> list[str]:
    """The names of rows by their models: row of a plan, method and base, with the runs where several have the same."""
    names = []
    alike = Counter((_made_by(one), sources.shown(one.origin.base)) for one, *_ in rows if one.origin.recipe)
    for one, *others in rows:
        made = one.origin
        if not made.recipe:
            names.append(one.name)
            continue
        of_seed = f", seed {made.seed}" * bool(made.row)
        how = f", mean of {len(others) + 1} seeds" if others else of_seed
        how = ", best of several seeds" if made.seed is None and not others else how
        name = f"{_made_by(one)} on {sources.shown(made.base)}{how}{_nothing((one, *others))}"
        if alike[_made_by(one), sources.shown(made.base)] > 1:
            of_runs = [each.name for each in (one, *others)]
            more = f" and {len(of_runs) - MOST_RUNS} more" if len(of_runs) > MOST_RUNS else ""
            name = f"{name} ({', '.join(of_runs[:MOST_RUNS])}{more})"
        names.append(name)
    return distinct_names(names, [one for one, *_ in rows])


def distinct_names(names: Sequence[str], models: Sequence[ScoredModel]) -> list[str]:
    """The names of models; equal ones with the end of the path, revision or digest, whichever tells them apart."""
    for mark in (
        lambda one: one.folder,
        lambda one: one.revision[:14],
        lambda one: one.digest[:14],
        lambda one: text_sets.digest_of((one.origin.recipe,))[:14],
    ):
        marks = {(name, mark(model)) for name, model in zip(names, models, strict=True)}
        distinct = Counter(name for name, _ in marks)  # what tells none apart is not shown
        names = [
            f"{name} ({mark(model)})" if distinct[name] > 1 and mark(model) else name
            for name, model in zip(names, models, strict=True)
        ]
    return list(names)


def _made_by(model: ScoredModel) -> str:
    """How a model was trained: its method, after the row of its plan if that does not name it."""
    row, method = model.origin.row, model.origin.method
    return (row or method) if not row or method in row else f"{row}, {method}"


def _nothing(of_seeds: Sequence[ScoredModel]) -> str:
    """What the name of a row says of models that equal their base."""
    count = sum(one.origin.nothing for one in of_seeds)
    if not count:
        return ""
    return ", nothing was learned" + (f" with {count} of {len(of_seeds)} seeds" if count < len(of_seeds) else "")


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


def cells(
    rows: Sequence[ModelRow],
    tasks: Sequence[ScoredTask],
    title: str = MODEL_DEFAULT,
    measure: str | None = None,
    groups: Mapping[str, Mapping[str, str]] | None = None,
) -> tuple[list[TableColumn], list[list[TableCell]]]:
    """The table, header and rows: the best average, or score, first, and None for what is missing.

    `groups` are the letters of the rank groups of models by name, for each claim by what it is about.
    """
    together = len(tasks) > 1 and are_alike(rows, tasks, measure)
    averages = {row.name: row.average(tasks, title, measure) for row in rows} if together else {}
    by = [measure_of(rows, task, measure) for task in tasks]
    header = [TableColumn("model", is_text=True)]
    header += [TableColumn(name, words) for name, words in zip(labels(tasks).values(), by, strict=True)]
    header += [TableColumn(AVERAGE.format(len(tasks)), " or ".join(dict.fromkeys(filter(None, by))))] * bool(averages)
    header += [TableColumn(GROUP, data=about, is_text=True) for about in groups or {}]
    table: list[list[TableCell]] = []
    sign = 1 if measure in COSTS else -1

    def place(row: ModelRow) -> list[float]:
        scores = [averages.get(row.name), *(row.cell(task, title, measure) for task in tasks)]
        return [math.inf if score is None else sign * score.mean for score in scores]

    for row in sorted(rows, key=place):
        scores = [row.cell(task, title, measure) for task in tasks] + ([averages[row.name]] if averages else [])
        table.append([row.name, *scores, *(letters.get(row.name, "") for letters in (groups or {}).values())])
    return header, table


def measure_of(rows: Sequence[ModelRow], task: ScoredTask, measure: str | None = None) -> str:
    """The measure of the scores of a task in words; "" if no row has one."""
    found = {run[task.digest].measures[0] for row in rows for run in row.runs if task.digest in run}
    return " or ".join(sorted(map(measure_in_words, {measure} if measure and found else found)))


def measures_of(rows: Sequence[ModelRow], tasks: Sequence[ScoredTask]) -> str:
    """The main measures of tasks in words, each once."""
    return " or ".join(dict.fromkeys(measure_of(rows, task) for task in tasks))


def are_alike(rows: Sequence[ModelRow], tasks: Sequence[ScoredTask], measure: str | None = None) -> bool:
    """Whether the scores of tasks have one measure, so that their average means something."""
    found = (run[task.digest] for row in rows for run in row.runs for task in tasks if task.digest in run)
    return measure is not None or len({one.measures[0] for one in found}) <= 1


def _score(measured: Measured | None, title: str, measure: str | None) -> float | None:
    if measured is None or (measure is not None and measure not in measured.measures):
        return None
    score = measured.score(title, measure)
    return score if math.isfinite(score) else None


def mean_score(scores: Sequence[float | None]) -> Number | None:
    """Mean and standard deviation over seeds; None if a seed lacks its score, since a mean of some would mislead."""
    known = [score for score in scores if score is not None]
    if not known or len(known) < len(scores):
        return None
    return Number(fmean(known), stdev(known) if len(known) > 1 else None, seeds=len(known))


def so_far(scores: Sequence[float | None]) -> Number | None:
    """Mean and standard deviation over the seeds that have a score, with how many lack it; None if all do."""
    found = mean_score([score for score in scores if score is not None])
    return found and replace(found, of=len(scores))


@dataclass(frozen=True, eq=False)
class PublishedRow:
    """A row of a paper's table, with its scores on the tasks shown."""

    source: str  # "SG-BERT, Table 1"
    model: str
    base: str
    pooling: str
    aggregation: str  # over sub-corpora; "" if it is not known or there are none
    metric: str  # "spearman", …; "" if the paper does not name it
    scores: Mapping[str, PrintedScore]  # by the name of the task

    def measure(self, task: str) -> str:
        """The measure of results that this row has on a task: papers average sub-corpora of STS12 to STS16 only."""
        if not self.metric:
            return _OF_GLUE.get(task, _OF_OTHER_GLUE)
        averaged = self.aggregation not in ("", "all") and task in AGGREGATED
        return f"{self.metric} {self.aggregation}" if averaged else self.metric

    def difference(self, row: ModelRow, task: ScoredTask, title: str = MODEL_DEFAULT) -> float | None:
        """The measured score less the published one, both as they are shown; None if one is missing."""
        published, measured = self.cell(task.name), row.cell(task, title, self.measure(task.name))
        return None if published is None or measured is None else in_words.gap(published.mean, measured.mean)

    def cell(self, task: str) -> Number | None:
        """The published score."""
        score = self.scores.get(task)
        return None if score is None or score.value is None else Number(score.value, score.std, seeds=0)


def rows_for(names: Sequence[str]) -> tuple[PublishedRow, ...]:
    """The rows of all papers that have a score on any of the tasks with these names."""
    every = (published_row(table, row, names) for table in tables() if table.kind == "scores" for row in table.rows)
    return tuple(row for row in every if row.scores)


def published_row(table: PrintedTable, row: PrintedRow, names: Sequence[str]) -> PublishedRow:
    """A row of a table, with its scores on the tasks with these names."""
    metric, wanted = table.metric, {plain(name): name for name in names}
    if table.task:  # its columns are measures
        name = wanted.get(plain(table.task))
        scores = {name: row.scores[_OF_SEARCH]} if name and _OF_SEARCH in row.scores else {}
    else:  # without case and punctuation: papers write SST2, results SST-2
        scores = {wanted[plain(one)]: score for one, score in row.scores.items() if plain(one) in wanted}
    known = METRICS[metric].key if metric in METRICS else metric if metric == ACCURACY else ""
    return PublishedRow(
        source=f"{table.paper}, Table {table.number}",
        model=row.label,
        base=row.base or "no transformer",
        pooling=row.pooling or "",
        aggregation=row.aggregation or table.aggregation or "",
        metric=known if metric else _OF_SEARCH,
        scores=scores,
    )


def what_differs(
    rows: Sequence[PublishedRow], measured: ModelRow, tasks: Sequence[ScoredTask], title: str
) -> list[str]:
    """What differs in the setting of a paper's table and of a measured model, as far as both are known."""
    names = {name for row in rows for name in row.scores}
    settings = [task.settings for task in tasks if task.name in names and measured.has(task)]
    texts = {str(setting["text"]) for setting in settings if "text" in setting}
    probes = {str(setting["probe"]) for setting in settings if "probe" in setting}
    bases = " or ".join(dict.fromkeys(row.base for row in rows))
    poolings = " or ".join(dict.fromkeys(row.pooling for row in rows if row.pooling)) or "not stated"
    differs = [f"encoder: {bases}, here {measured.name}", f"pooling: {poolings}, here {title}"]
    for what, here, theirs, titles in (
        ("text", texts, sts.SENTEVAL, Options.knobs["text"].titles),
        ("classifier", probes, SENTEVAL, Options.knobs["probe"].titles),
    ):
        if here - {theirs}:
            differs.append(f"{what}: {titles[theirs]}, here {', '.join(sorted(titles.get(one, one) for one in here))}")
    if not all(row.metric for row in rows):
        differs.append("metric: not named in the paper, here GLUE's (accuracy; Matthews' correlation for CoLA)")
    return differs
