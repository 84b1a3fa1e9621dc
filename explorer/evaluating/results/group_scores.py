"""Split results by a column of their sets: what each model scores in each group, from the items that results keep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from explorer import in_words
from explorer.data.set_items import Attribute, several
from explorer.encoding.read.pooling import MODEL_DEFAULT
from explorer.evaluating.results import result_table, table_formats
from explorer.evaluating.results.result_files import Result
from explorer.evaluating.results.scored_task import ScoredTask, labels
from explorer.measuring.comparing import splits
from explorer.measuring.scores.layer_scores import text_of
from explorer.measuring.scores.metrics import MEAN, measure_in_words, measure_named
from explorer.measuring.scores.verdict import CI


@dataclass(frozen=True)
class SplitColumn:
    """The column that a set is split by, and what an item of the set is."""

    attribute: Attribute
    item: str


Columns = Mapping[tuple[str, str], SplitColumn]  # by kind of task and digest of data, of the sets that have it


def of_results(results: Sequence[Result], columns: Columns) -> dict[str, splits.ScoreSplit]:
    """The main measure of the model default in each group, by the key of the result, of those that keep items."""
    found = {}
    for one in results:
        column, items = columns.get((one.task.kind, one.task.data)), one.measured.items
        if column is None or items is None:
            continue
        main = one.measured.measures[0]
        statistic, _ = measure_named(main) or (MEAN, "")
        # what a query or a row gets needs no gold score
        gold = items.values if items.gold is None else items.gold
        groups = splits.group_scores(gold, items.values, splits.groups_of(column.attribute), statistic)
        about = column.attribute.name, measure_in_words(main), MODEL_DEFAULT, column.item
        found[one.key] = splits.ScoreSplit(*about, groups)
    return found


def as_json(found: Mapping[str, splits.ScoreSplit]) -> dict[str, dict[str, object]]:
    """Column, measure and groups of each result, by its key."""
    return {key: splits.scores_as_json(one) for key, one in found.items()}


def as_text(results: Sequence[Result], tasks: Sequence[ScoredTask], found: Mapping[str, splits.ScoreSplit]) -> str:
    """A table for each task, with a row for each group and a column for each model."""
    models = {one.model.identity: one.model for one in results}
    names = dict(zip(models, result_table.row_names([[one] for one in models.values()]), strict=True))
    tables = []
    for digest, label in labels(tasks).items():
        every = {names[one.model.identity]: one for one in results if one.task.digest == digest}
        of_task = {name: found[one.key] for name, one in every.items() if one.key in found}
        tables += [_table(label, of_task)] if of_task else []
    return "".join(f"\n{table}" for table in tables)


def _table(label: str, models: Mapping[str, splits.ScoreSplit]) -> str:
    first, *_ = models.values()
    header = [table_formats.TableColumn(first.column, is_text=True), table_formats.TableColumn(several(first.item))]
    header += [table_formats.TableColumn(name) for name in models]
    rows: list[list[table_formats.TableCell]] = []
    for of_group in zip(*(one.groups for one in models.values()), strict=True):
        rows.append([of_group[0].name, f"{of_group[0].items:,}", *map(_cell, of_group)])
    whys = dict.fromkeys(f"{one.name}: {one.why}\n" for split in models.values() for one in split.groups if one.why)
    title = f"{label} by {first.column}: {first.metric} × 100 ({CI})\n"
    return title + table_formats.as_text(header, rows) + "".join(whys)


def _cell(one: splits.GroupScore) -> str:
    score = text_of(one.score)
    return score if one.ends is None else f"{score} ({in_words.interval(*one.ends)})"


def lacking(tasks: Sequence[ScoredTask], columns: Columns, name: str) -> str:
    """The tasks that are not split, since they have no such column; "" if all have it."""
    known = labels(tasks)
    left = [known[one.digest] for one in tasks if one.kind and (one.kind, one.data) not in columns]
    return f"Not split, without a column '{name}': {', '.join(left)}." if left else ""
