"""What would a run need? Asked before it is started: everything is read and one step is tried, nothing is kept."""

from __future__ import annotations

from pathlib import Path

from explorer.places import runs_folder
from explorer.progress import Progress, Work
from explorer.training.loop.learner import Learner
from explorer.training.loop.memory import give_back
from explorer.training.loop.preparing import prepare
from explorer.training.loop.trial import Estimate, check_reading, estimate
from explorer.training.loop.world import World
from explorer.training.recipe import Recipe


def try_out(recipe: Recipe, online: bool = False) -> Work[Estimate]:
    """The estimate for a recipe, or the error that would have met the run."""
    recipe = recipe.checked()
    try:
        return (yield from _tried(recipe, online))
    finally:
        give_back()


def _tried(recipe: Recipe, online: bool) -> Work[Estimate]:
    world = World(recipe.precision, recipe.device)
    prepared = yield from prepare(recipe, world.device.type, online)
    yield Progress("trying a step", 0, 0)
    learner = Learner(prepared, recipe.seeds[0], world)
    check_reading(learner)
    return estimate(learner, _existing(runs_folder()), len(recipe.seeds))


def _existing(folder: Path) -> Path:
    """The folder, or the nearest one above it that is there."""
    return next(place for place in (folder, *folder.absolute().parents) if place.is_dir())
