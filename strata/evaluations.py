"""Evaluate models on suites of tasks, such as all STS sets, and find out which of them really differ."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

from explorer.commands.parts import output
from explorer.data.set_items import counted
from explorer.encoding.read.pooling import MODEL_DEFAULT
from explorer.errors import DataError
from explorer.evaluating import tasks as known
from explorer.evaluating.evaluation import EvaluationResult, evaluation
from explorer.evaluating.results import rank_groups, rank_verdict, result_table, scored_task
from explorer.evaluating.tasks import Subject
from explorer.in_words import rounded
from explorer.training.record.run_results import scored
from strata.models import Model, ModelLike, load
from strata.shown import HEIGHT, Shown

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

Text = str | PathLike[str]


@dataclass(frozen=True, eq=False)
class Evaluation(Shown):
    """The scores × 100 of models on tasks; the results are saved, and Results shows them too."""

    models: tuple[Model, ...]
    result: EvaluationResult

    @property
    def rows(self) -> tuple[result_table.ModelRow, ...]:
        """A row for each model."""
        return result_table.models(self.result.results)

    @cached_property
    def ranking(self) -> rank_groups.Ranking | None:
        """Models in order, with the groups that do not differ significantly; None if they cannot be compared."""
        return rank_groups.ranked(self.rows, self.result.columns)

    @property
    def missing(self) -> tuple[str, ...]:
        """The tasks that have no data, and why."""
        return self.result.missing

    @property
    def failed(self) -> tuple[str, ...]:
        """The models that failed, with the error."""
        return self.result.failed

    def to_frame(self, *, layers: bool = False) -> pd.DataFrame:
        """A row for each model and a column for each task: the main score of the model default.

        With `layers`, a row for each model, task, layer & pooling and measure instead.
        """
        import pandas as pd

        labels = scored_task.labels(self.result.columns)
        if layers:
            return pd.DataFrame(
                [
                    {
                        "model": one.model.name,
                        "task": labels[one.task.digest],
                        "layer & pooling": title,
                        "measure": measure,
                        "score": rounded(one.measured.score(title, measure)),
                    }
                    for one in self.result.results
                    for title in one.measured.titles
                    for measure in one.measured.measures
                ]
            )
        rows = []
        for row in self.rows:
            cells = {labels[task.digest]: row.cell(task) for task in self.result.columns}
            average = row.average(self.result.columns) if len(cells) > 1 else None
            numbers = {name: None if cell is None else rounded(cell.mean) for name, cell in cells.items()}
            mean = {} if average is None else {result_table.AVERAGE.format(len(cells)): rounded(average.mean)}
            rows.append({"model": row.name, **numbers, **mean})
        return pd.DataFrame(rows)

    def figure(self) -> go.Figure:
        """Scores with intervals and the groups that do not differ, as on Results; of one model the score alone."""
        from explorer.drawing.scores import ranks

        measure, ranking = result_table.measures_of(self.rows, self.result.columns), self.ranking
        if ranking is not None:
            return ranks.ranked(ranking, measure, HEIGHT)
        averages = ((row.name, row.average(self.result.columns)) for row in self.rows)
        return ranks.unranked([(name, one.mean) for name, one in averages if one is not None], measure, HEIGHT)

    def __repr__(self) -> str:
        count, ranking = counted(len(self.rows), "model"), self.ranking
        tasks = counted(len(self.result.columns), "task")
        measure = result_table.measures_of(self.rows, self.result.columns)
        verdict = [rank_verdict.text_of(ranking, measure)] if ranking else []
        return " ".join([f"{count} on {tasks}, {MODEL_DEFAULT}, score × 100.", *verdict, *self.missing, *self.failed])


def evaluate(
    models: ModelLike | Sequence[ModelLike],
    tasks: Text | Sequence[Text] = "sts",
    **options: Any,
) -> Evaluation:
    """Score one or several models on tasks.

    `tasks` are names such as "STS12" or "MR", suites such as "sts", files and folders of your own. `options` are the
    settings of an evaluation by name: `text`, `probe`, `seeds`, `index`, `query_prompt`, `document_prompt`, `windows`,
    `titles` (layers & poolings), `corpus`, `again` and `online`. A result that is saved is not measured again. An
    interrupt keeps what was measured; the same call goes on from there.
    """
    listed = [models] if isinstance(models, str) or not isinstance(models, Iterable) else list(models)
    given = tuple(map(load, listed))
    named: list[str] = []
    for task in [tasks] if isinstance(tasks, str | PathLike) else tasks:
        suite = known.suites().get(str(task))
        named += suite if suite is not None else [known.named(str(task))]
    online = bool(options.pop("online", False))
    chosen = replace(scored_task.Options.read(options), online=online)
    subjects = [(scored(one.found), Subject(one.found, one.settings)) for one in given]
    result = output.finish_or_interrupt(evaluation(subjects, list(dict.fromkeys(named)), chosen))
    if not result.results:
        raise DataError(" ".join((*result.missing, *result.failed)) or "No task could be scored. Name another one.")
    return Evaluation(given, result)
