"""The test scores of finished runs as results, so that they stand in the table of results by themselves."""

from __future__ import annotations

import numpy as np

from explorer import run_folder
from explorer.encoding.read.readings import MODEL_DEFAULT
from explorer.errors import StrataError
from explorer.evaluating.measured import Measured, Setting
from explorer.evaluating.results.result_files import Origin, Result, ScoredModel
from explorer.evaluating.results.scored_task import RUN_TEST, ScoredTask
from explorer.evaluating.suites import label_of
from explorer.measuring.scores.verdict_text import SPEARMAN, items_of
from explorer.training.record import runs
from explorer.training.record.run_origin import of_run
from explorer.training.record.runs import Run
from explorer.training.record.status import FINISHED, Status


def of_runs() -> list[Result]:
    """A result for each finished run with a test score; what a run measured has no items to test in pairs."""
    return [result for run in (*runs.every(), *runs.examples()) for result in of_one(run)]


def of_one(run: Run) -> list[Result]:
    """The test scores of a run, one for each test set; none if it is not finished."""
    status = run.status()
    if status.state != FINISHED or status.verdict is None:
        return []
    try:
        made, recipe = of_run(run), run.recipe()
    except StrataError:
        return []
    scores = ((use, found.exported) for use, found in status.verdict.by_use.items() if use != "dev")
    return [_result(run, status, made, use, recipe.digest_of(use), score) for use, score in scores if score is not None]


def _result(run: Run, status: Status, made: Origin, use: str, data: str, score: float) -> Result:
    facts, table = status.facts, np.array([[[score]]])
    measure = facts.measure_of(use)
    by = measure.lower() if measure == SPEARMAN else measure
    settings: dict[str, Setting] = {"measure": by, "precision": facts.precision, "device": facts.device}
    task = ScoredTask(RUN_TEST, data, settings, *label_of(facts.set_of(use)))
    setting: dict[str, Setting] = {items_of(measure)[1]: facts.size_of(use), "measured": RUN_TEST}
    measured = Measured("test", (MODEL_DEFAULT,), (by,), table, setting=setting, seconds=status.seconds)
    return Result(ScoredModel(run_folder.model_name(run.name), RUN_TEST, "", made), task, measured)
