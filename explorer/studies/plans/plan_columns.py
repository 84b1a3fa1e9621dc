"""The columns and cells of a plan's table: a row for each base, then one for each method and setting.

Every number names what it measures, on which set; a difference has its interval.
"""

from explorer import in_words
from explorer.data import sources
from explorer.encoding.read.pooling import MODEL_DEFAULT
from explorer.evaluating.results.table_formats import Number, TableCell, TableColumn
from explorer.measuring.scores.metrics import measure_in_words
from explorer.measuring.scores.verdict import UNLEARNED, WORDS, ElsewhereVerdict, Verdict
from explorer.studies.plans.plan import NO_TEST
from explorer.studies.plans.plan_table import BASE, DEV, TEST, PlanTable

ROW, SEEDS, DEV_SET, TEST_SET = "row", "seeds", "dev set", "test set"
BEFORE, GAIN, BY_TRAINING, UNLEARNED_SEEDS = (
    "base, trained layer & pooling", "difference to the base", "difference by training", "nothing learned, seeds",
)  # fmt: skip
SECONDS, PER_POINT, MEMORY = "seconds", "seconds per point", "memory (GB)"
ELSEWHERE = "elsewhere, difference to the base"


def written(found: PlanTable) -> tuple[list[TableColumn], list[list[TableCell]]]:
    """Header and rows; None is a number that is not there."""
    header = columns(found)
    every: list[dict[str, TableCell]] = [
        {  # the row of a base: what is subtracted from the scores of its runs
            ROW: f"{BASE} {sources.shown(base.model)} ({MODEL_DEFAULT})",
            DEV_SET: sources.shown(base.dev_set),
            TEST_SET: sources.shown(base.test_set),
            TEST: _number(base.test),
            DEV: _number(base.dev),
            **{task: _number(found.bases.get(base.model, {}).get(task)) for task in found.tasks},
        }
        for base in found.base_rows
    ]
    for row in found.rows:
        recipe, count = row.cells[0].recipe, len(row.cells)
        done = sum(one.done is not None for one in row.cells)
        elsewhere = {_elsewhere(one).about: _difference(one.verdict, count) for one in row.elsewhere}
        every.append(
            {
                ROW: row.label,
                SEEDS: Number(done, text=f"{done} of {count}"),
                DEV_SET: sources.shown(recipe.dev),
                TEST_SET: sources.shown(str(recipe.test or NO_TEST)),
                BEFORE: row.before,
                **{name: row.so_far(name) for name in (TEST, DEV, *found.tasks)},
                GAIN: _difference(row.verdict, count, WORDS[UNLEARNED] * (row.nothing == count)),
                BY_TRAINING: _by_training(row.verdict, count),
                UNLEARNED_SEEDS: Number(row.nothing, text=f"{row.nothing} of {count}") if row.nothing else None,
                **elsewhere,
                SECONDS: _number(row.seconds, 0, done),
                PER_POINT: _number(row.seconds_per_point, 1, done),
                MEMORY: _number(None if row.memory is None else row.memory / 1e9, 2, done),
            }
        )
    keys = [column.about if column.name == ELSEWHERE else column.name for column in header]
    return header, [[cells.get(key) for key in keys] for cells in every]


def columns(found: PlanTable) -> list[TableColumn]:
    """The columns of the table; sets have columns of their own if not all rows have the same."""
    dev, test = found.sets
    several = [DEV_SET, TEST_SET] if max(len(dev), len(test)) > 1 else []
    of_dev, of_test = (
        (" or ".join(found.measures_of(use)), sources.shown(names[0]) if len(names) == 1 else "")
        for use, names in ((DEV, dev), (TEST, test))
    )
    elsewhere = {column.about: column for row in found.rows for column in map(_elsewhere, row.elsewhere)}
    in_parts = any(row.verdict is not None and row.verdict.training is not None for row in found.rows)
    unlearned = any(0 < row.nothing < len(row.cells) for row in found.rows)
    return [
        TableColumn(ROW, is_text=True),
        TableColumn(SEEDS),
        *(TableColumn(name, is_text=True) for name in several),
        *(TableColumn(name, *of_test) for name in (TEST, GAIN)),
        *[TableColumn(BY_TRAINING, *of_test)] * in_parts,
        TableColumn(BEFORE, *of_test),
        *[TableColumn(UNLEARNED_SEEDS)] * unlearned,
        *elsewhere.values(),
        TableColumn(DEV, *of_dev),
        *(TableColumn(task, found.task_measures.get(task, "")) for task in found.tasks),
        *map(TableColumn, (SECONDS, PER_POINT, MEMORY)),
    ]


def _elsewhere(one: ElsewhereVerdict) -> TableColumn:
    """The column of a set that runs were not trained for: its name, how many of its items are scored, its measure."""
    return TableColumn(ELSEWHERE, measure_in_words(one.measure), f"{sources.shown(one.name)}, {one.items}")


def _difference(verdict: Verdict | None, seeds: int, text: str = "") -> Number | None:
    """The difference to the base with its interval; a `text` is in their place for people."""
    if verdict is None or not verdict.known:
        return None
    _, _, difference, low, high = verdict.known
    return Number(difference, low=low, high=high, seeds=seeds, text=text or verdict.gap_alone)


def _by_training(verdict: Verdict | None, seeds: int) -> Number | None:
    """The part of the difference that is due to training, if another layer & pooling has a part of it."""
    if verdict is None or not verdict.known or verdict.training is None:
        return None
    part = verdict.training
    text = in_words.change(verdict.shown_parts[1], part.low, part.high)
    return Number(part.difference, low=part.low, high=part.high, seeds=seeds, text=text)


def _number(value: float | None, digits: int = 2, seeds: int = 1) -> Number | None:
    return None if value is None else Number(value, digits=digits, seeds=seeds)
