"""How a model was made, for its results: the recipe of its run without the seed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from explorer.data.kinds import digest_of
from explorer.errors import StrataError
from explorer.evaluating.results.result_files import Origin, ScoredModel, revision_of
from explorer.training.record.tuned_pair import run_of

if TYPE_CHECKING:
    from explorer.encoding.locate.model_names import Found
    from explorer.training.record.runs import Run


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
