"""Results of runs: how a model was made, and the test scores of finished runs and of their bases."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from explorer import run_folder
from explorer.data.text_sets import digest_of
from explorer.encoding.load.hardware import MEASURED
from explorer.encoding.read.pooling import MODEL_DEFAULT
from explorer.errors import StrataError
from explorer.evaluating.results.result_files import Origin, Result, ScoredModel, revision_of
from explorer.evaluating.results.scored_task import RUN_TEST, Measured, ScoredTask, Setting
from explorer.evaluating.tasks import column_of
from explorer.measuring.scores.metrics import SPEARMAN, items_of
from explorer.training.record import runs
from explorer.training.record.model_comparison import run_of
from explorer.training.record.runs import Run
from explorer.training.record.status import FINISHED, Status

if TYPE_CHECKING:
    from explorer.encoding.locate.model_names import Found


def scored(found: Found) -> ScoredModel:
    """A model as its results name it."""
    return ScoredModel(found.name, revision_of(found.digest, found.revision), found.digest, origin(found))


def origin(found: Found) -> Origin:
    """How a model was trained; empty for any other model, and for a run whose recipe cannot be read."""
    run = run_of(found)
    if run is None:
        return Origin()
    try:
        return of_run(run, found.name.partition("@")[2])
    except StrataError:
        return Origin()


def of_run(run: Run, checkpoint: str = "") -> Origin:
    """How the model of a run was trained, or that of one of its checkpoints, which is another model."""
    recipe = run.recipe()
    seed = recipe.seeds[0] if len(recipe.seeds) == 1 else None
    # with digests: trainings on two versions of a text are not two seeds of one recipe
    of_any_seed = replace(recipe.trained_on(), seeds=(0,))
    return Origin(recipe.method, recipe.model, digest_of((of_any_seed.as_yaml(), checkpoint)), seed)


def of_runs() -> list[Result]:
    """A result for each finished run with a test score, then one for each base on each of their test sets.

    What a run measured has no items to test in pairs.
    """
    every = [(run, run.status()) for run in (*runs.every(), *runs.examples())]
    bases = {one.key: one for run, status in every for one in _results(run, status, tuned=False)}
    return [*(one for run, status in every for one in _results(run, status)), *bases.values()]


def of_one(run: Run) -> list[Result]:
    """The test scores of a run, one for each test set; none if it is not finished."""
    return _results(run, run.status())


def _results(run: Run, status: Status, *, tuned: bool = True) -> list[Result]:
    """The test scores of the tuned model, or of its base under the model default."""
    if status.state != FINISHED or status.verdict is None:
        return []
    try:
        made, recipe = of_run(run), run.recipe()
    except StrataError:
        return []
    digest = recipe.digest_of("model")
    base = ScoredModel(recipe.model, revision_of(digest, recipe.made_with.get("model_revision")), digest)
    model = ScoredModel(run_folder.model_name(run.name), RUN_TEST, "", made) if tuned else base
    found = ((use, one) for use, one in status.verdict.by_use.items() if use != "dev")
    scores = ((use, one.exported if tuned else one.declared_base) for use, one in found)
    return [_result(model, status, use, recipe.digest_of(use), score) for use, score in scores if score is not None]


def _result(model: ScoredModel, status: Status, use: str, data: str, score: float) -> Result:
    facts, table = status.facts, np.array([[[score]]])
    measure = facts.measure_of(use)
    by = measure.lower() if measure == SPEARMAN else measure
    settings: dict[str, Setting] = {"measure": by, "precision": MEASURED[0], "device": facts.device}
    task = ScoredTask(RUN_TEST, data, settings, *column_of(facts.set_of(use)))
    setting: dict[str, Setting] = {items_of(measure)[1]: facts.size_of(use), "measured": RUN_TEST}
    measured = Measured("test", (MODEL_DEFAULT,), (by,), table, setting=setting, seconds=status.seconds)
    return Result(model, task, measured)
