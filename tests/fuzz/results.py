"""Cases of results: of models and tasks with alike and odd names; some are damaged, and all are read and shown."""

from __future__ import annotations

import json
import os
from pathlib import Path
from random import Random

import numpy as np

from explorer.data.text_sets import digest_of
from explorer.evaluating.results import rank_groups, result_files, result_table, scored_task, table_formats
from explorer.evaluating.results.result_files import Origin, Result, ScoredModel
from explorer.evaluating.results.scored_task import (
    FINE_TUNING,
    RETRIEVAL,
    RUN_TEST,
    SEARCH,
    STS,
    TRANSFER,
    Items,
    Measured,
    ScoredTask,
)
from tests.fuzz import mutants
from tests.fuzz.pages import shown

_SHOWN = 8  # one case in so many is shown on the page, which takes a hundred times as long as reading
NAMES = ("test.tsv", "тест.tsv", "план.tsv", "试验.tsv", "a/b", "a__b", "..", "x" * 200, "x" * 201, "t (seeds 1)",
         "STS12", "*b* <b>", "a\nb", "")  # fmt: skip
FOLDERS = ("", "a", "sets/a", "other/a", "sets/b")
VALUES = (None, "1", "1, 2, 3", 4, 4.0, True, "x" * 300)
MOST = 12  # results of a case


def attempt(seed: int, folder: Path, place: Path) -> None:
    """Write results, read them back by their identity, damage some, and show all that is left."""
    drawn = Random(seed)
    os.environ["STRATA_RESULTS"] = str(place / "results")
    os.environ["STRATA_RUNS"] = str(place / "runs")
    written = [_result(drawn) for _ in range(drawn.randrange(1, MOST))]
    for one in written:
        result_files.write(one)
    for one in written:
        found = result_files.saved(one.model, one.task)
        assert found is not None, "a result is lost"
        assert np.array_equal(found.measured.table, one.measured.table, equal_nan=True), "a result of another"
    kept, unreadable = result_files.read_all()
    assert not unreadable, "what was written cannot be read"
    assert {one.key for one in kept} == {one.key for one in written}, "a result is lost"
    _check_table(kept)
    files = sorted((place / "results").rglob("*.json"))
    for path in drawn.sample(files, min(len(files), drawn.choice((0, 1, 1, 3)))):
        _damage(drawn, path)
    left, unreadable = result_files.read_all()
    assert len(left) + len(unreadable) <= len(kept), "damage adds a result"
    _check_table(left)
    if seed % _SHOWN == 0:
        shown("results", suite="all tasks", results_settings="all settings")


def _check_table(results: tuple[Result, ...]) -> None:
    """Every score that a table shows is one of the model and the task of its row and column."""
    tasks = list({one.task.digest: one.task for one in results}.values())
    assert len(set(scored_task.labels(tasks).values())) == len(tasks), "two tasks have one label"
    rows = result_table.models(results)
    assert len({row.name for row in rows}) == len(rows), "two rows have one name"
    origins = {id(one.measured): one for one in results}
    for run in (run for row in rows for run in row.runs):
        of = {task: origins[id(measured)] for task, measured in run.items()}
        assert all(one.task.digest == task for task, one in of.items()), "a score of another task"
        assert len({one.model.digest for one in of.values()}) == 1, "scores of several models in one run"
    header, lines = result_table.cells(rows, tasks)
    for form in table_formats.FORMATS:
        table_formats.written(form, header, lines)
    rank_groups.ranked(rows, tasks)


def _result(drawn: Random) -> Result:
    name = drawn.choice(NAMES)
    recipe = drawn.choice(("", "", "r", "s"))
    origin = Origin("simcse", "base", recipe, drawn.choice((1, 2, None))) if recipe else Origin()
    digest = digest_of((drawn.choice(("old", "new")), recipe, str(origin.seed)))
    model = ScoredModel(name, drawn.choice((f"local-{digest[:12]}", "abc123")), digest, origin)
    settings = {setting: drawn.choice(VALUES) for setting in drawn.sample(("text", "seeds", "max_length"), 2)}
    kind = drawn.choice((STS, TRANSFER, RETRIEVAL, SEARCH, FINE_TUNING, RUN_TEST))
    task = ScoredTask(kind, digest_of((drawn.choice("de"),)), settings, drawn.choice(NAMES), drawn.choice(FOLDERS))
    numbers = Random(task.key(model.digest))  # equal inputs have equal scores
    score = numbers.choice((float("nan"), numbers.uniform(-100, 100)))
    items = Items(np.array([numbers.random() for _ in range(8)]), digest=task.data) if numbers.random() < 0.7 else None
    measured = Measured("test", ("model default",), ("spearman",), np.array([[[score]]]), (0,), {}, items)
    return Result(model, task, measured)


def _damage(drawn: Random, path: Path) -> None:
    if drawn.random() < 0.3:
        path.write_bytes(mutants.of_bytes(drawn, path.read_bytes()))
        return
    changed = mutants.of_json(drawn, json.loads(path.read_text("utf-8", "surrogatepass")))
    path.write_bytes(mutants.text_of(drawn, changed).encode("utf-8", "surrogatepass"))
