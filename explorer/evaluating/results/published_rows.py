"""Published scores next to measured ones: rows of papers, differences, and what differs in the setting."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from explorer.data import reference_scores
from explorer.data.graded import sts
from explorer.data.reference_scores import AGGREGATED, PrintedRow, PrintedScore, PrintedTable
from explorer.data.tables.columns import plain
from explorer.encoding.read.pooling import MODEL_DEFAULT
from explorer.evaluating.results.result_table import MeanScore, ModelRow
from explorer.evaluating.results.scored_task import SENTEVAL, Options, ScoredTask
from explorer.measuring.scores.metrics import ACCURACY, METRICS

_OF_SEARCH = "MRR@10"
# GLUE's own measures, for a table that does not name its metrics
_OF_GLUE, _OF_OTHER_GLUE = {"GLUE CoLA": "Matthews"}, "accuracy"


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
        """The measured score less the published one, under the paper's measure; None if one of them is missing."""
        published, measured = self.cell(task.name), row.cell(task, title, self.measure(task.name))
        return None if published is None or measured is None else measured.mean - published.mean

    def cell(self, task: str) -> MeanScore | None:
        """The published score."""
        score = self.scores.get(task)
        return None if score is None or score.value is None else MeanScore(score.value, score.std)


def rows_for(names: Sequence[str]) -> tuple[PublishedRow, ...]:
    """The rows of all papers that have a score on any of the tasks with these names."""
    tables = (table for table in reference_scores.tables() if table.kind == "scores")
    every = (published_row(table, row, names) for table in tables for row in table.rows)
    return tuple(row for row in every if row.scores)


def published_row(table: PrintedTable, row: PrintedRow, names: Sequence[str]) -> PublishedRow:
    """A row of a table, with its scores on the tasks with these names."""
    return PublishedRow(
        source=f"{table.paper.name}, Table {table.number}",
        model=row.label,
        base=row.base or "no transformer",
        pooling=row.pooling or "",
        aggregation=row.aggregation or table.aggregation or "",
        metric=_measure(table.metric) if table.metric else _OF_SEARCH,
        scores=_of_tasks(table, row.scores, {plain(name): name for name in names}),
    )


def _measure(metric: str) -> str:
    """The measure of results that a metric of a paper is; "" if there is none."""
    return METRICS[metric].key if metric in METRICS else metric if metric == ACCURACY else ""


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


def _of_tasks(
    table: PrintedTable, scores: Mapping[str, PrintedScore], wanted: Mapping[str, str]
) -> dict[str, PrintedScore]:
    """The scores by the tasks' names in results; a table of one task has measures for columns."""
    if table.task:
        name = wanted.get(plain(table.task))
        return {name: scores[_OF_SEARCH]} if name and _OF_SEARCH in scores else {}
    # without case and punctuation: papers write SST2, results SST-2
    return {wanted[plain(column)]: score for column, score in scores.items() if plain(column) in wanted}
