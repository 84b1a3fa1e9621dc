"""The test scores of finished runs as results, so that they stand in the table of results by themselves."""

from __future__ import annotations

import numpy as np

from explorer import run_folder
from explorer.encoding.read.readings import MODEL_DEFAULT
from explorer.errors import StrataError
from explorer.evaluating.measured import Measured, Setting
from explorer.evaluating.results.result_files import Result, Scored
from explorer.measuring.scores.verdict_text import SPEARMAN
from explorer.training.record import runs
from explorer.training.record.run_origin import of_run
from explorer.training.record.runs import Run
from explorer.training.record.status import FINISHED

RUN_TEST = "run's test set"


def of_runs() -> list[Result]:
    """A result for each finished run with a test score; what a run measured has no items to test in pairs."""
    found = (of_one(run) for run in (*runs.every(), *runs.examples()))
    return [result for result in found if result is not None]


def of_one(run: Run) -> Result | None:
    """The test score of a run; None if it is not finished or has none."""
    status = run.status()
    tested = status.verdict and status.verdict.test
    if status.state != FINISHED or not tested or tested.exported is None:
        return None
    try:
        made = of_run(run)
    except StrataError:
        return None
    task = status.facts.set_of("test")
    table = np.array([[[tested.exported]]])
    measure = status.facts.measure_of("test")
    items, by = ("pairs", "spearman") if measure == SPEARMAN else ("queries", measure)
    setting: dict[str, Setting] = {items: status.facts.size_of("test"), "measured": RUN_TEST}
    measured = Measured(task, "test", (MODEL_DEFAULT,), (by,), table, setting=setting, seconds=status.seconds)
    return Result(Scored(run_folder.model_name(run.name), RUN_TEST, made), measured)
