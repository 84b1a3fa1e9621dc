"""Published scores beside measured ones: rows of papers, differences, and what differs in the setting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from explorer.data import published_figures
from explorer.data.published_figures import AGGREGATED, Row, Score, Table
from explorer.data.tables.columns import plain
from explorer.encoding.read.readings import MODEL_DEFAULT
from explorer.evaluating.results.result_table import Cell, Model

# the measure of results that a metric of a paper is, by its first word
_METRICS = {"Spearman": "spearman", "Pearson": "pearson", "accuracy": "accuracy"}
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
    scores: Mapping[str, Score]  # by task, as results name it

    def measure(self, task: str) -> str:
        """The measure of results that this row has on a task: papers average sub-corpora of STS12 to STS16 only."""
        if not self.metric:
            return _OF_GLUE.get(task, _OF_OTHER_GLUE)
        averaged = self.aggregation not in ("", "all") and task.partition(" (")[0] in AGGREGATED
        return f"{self.metric} {self.aggregation}" if averaged else self.metric

    def difference(self, row: Model, task: str, title: str = MODEL_DEFAULT) -> float | None:
        """The measured score less the published one, under the paper's measure; None if one of them is missing."""
        published, measured = self.scores.get(task), row.cell(task, title, self.measure(task))
        if published is None or published.value is None or measured is None:
            return None
        return measured.mean - published.value

    def cell(self, task: str) -> Cell | None:
        """The published score."""
        score = self.scores.get(task)
        return None if score is None or score.value is None else Cell(score.value, score.std)


def rows_for(tasks: Sequence[str]) -> tuple[PublishedRow, ...]:
    """The rows of all papers that have a score on any of these tasks."""
    tables = (table for table in published_figures.tables() if table.kind == "scores")
    every = (published_row(table, row, tasks) for table in tables for row in table.rows)
    return tuple(row for row in every if row.scores)


def published_row(table: Table, row: Row, tasks: Sequence[str]) -> PublishedRow:
    """A row of a table, with its scores on these tasks."""
    return PublishedRow(
        source=f"{table.paper.name}, Table {table.number}",
        model=row.label,
        base=row.base or "no transformer",
        pooling=row.pooling or "",
        aggregation=row.aggregation or table.aggregation or "",
        metric=_METRICS.get(table.metric.partition(" ")[0], "") if table.metric else _OF_SEARCH,
        scores=_of_tasks(table, row.scores, {_bare(task): task for task in reversed(tasks)}),
    )


def what_differs(rows: Sequence[PublishedRow], measured: Model, title: str) -> list[str]:
    """What differs in the setting of a paper's table and of a measured model, as far as both are known."""
    tasks = {task for row in rows for task in row.scores}
    settings = [dict(one.setting) for run in measured.runs for task, one in run.items() if task in tasks]
    texts = {setting["text"] for setting in settings if "text" in setting}
    probes = {setting["probe"] for setting in settings if "probe" in setting}
    bases = " or ".join(dict.fromkeys(row.base for row in rows))
    poolings = " or ".join(dict.fromkeys(row.pooling for row in rows if row.pooling)) or "not stated"
    differs = [f"encoder: {bases}, here {measured.name}", f"pooling: {poolings}, here {title}"]
    if texts - {"SentEval's"}:
        differs.append(f"text: SentEval's, here {', '.join(sorted(map(str, texts)))}")
    if probes - {"SentEval's MLP"}:
        differs.append(f"classifier: SentEval's MLP, here {', '.join(sorted(map(str, probes)))}")
    if not all(row.metric for row in rows):
        differs.append("metric: not named in the paper, here GLUE's (accuracy; Matthews' correlation for CoLA)")
    return differs


def _of_tasks(table: Table, scores: Mapping[str, Score], wanted: Mapping[str, str]) -> dict[str, Score]:
    """The scores by the tasks' names in results; a table of one task has measures for columns."""
    if table.task:
        name = wanted.get(_bare(table.task))
        return {name: scores[_OF_SEARCH]} if name and _OF_SEARCH in scores else {}
    return {wanted[_bare(column)]: score for column, score in scores.items() if _bare(column) in wanted}


def _bare(task: str) -> str:
    """A task without its variant in brackets, case and punctuation: papers write SST2, results SST-2."""
    return plain(task.partition(" (")[0])
