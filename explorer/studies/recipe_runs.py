"""Find the runs of recipes that were trained already: recipe, model and text are the same."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache

from explorer.encoding.locate import model_names
from explorer.errors import StrataError
from explorer.training.loop.preparing import read_texts
from explorer.training.recipe import Recipe
from explorer.training.record import runs
from explorer.training.record import status as statuses
from explorer.training.record.runs import Run

Digests = dict[str, str | None]


class RecipeRuns:
    """The runs of recipes, from what is on the disk; `digests` remembers what it has read."""

    def __init__(self) -> None:
        self._texts = cache(_digests_of)  # of recipes that differ in their seed only
        self._model = cache(lambda model: model_names.find(model).digest)

    def digests(self, recipe: Recipe) -> Digests:
        """The digests that the recipe's run records; an error if text or model cannot be read."""
        values = recipe.every_setting()
        others = {f"{name}_digest": self._model(str(values[name]))
                  for name, knob in recipe.kind.knobs.items() if knob.masked_model}  # fmt: skip
        return {"model_digest": self._model(recipe.model), **self._texts(_Key(recipe)), **others}

    def of(self, recipes: Sequence[Recipe], plan: str | None = None) -> list[Run | None]:
        """The run of each recipe: a finished one, else one to resume, or None.

        A plan, given by its id, resumes its own runs only.
        """
        by_recipe = _by_recipe()
        return [self._best(recipe, by_recipe.get(_identity(recipe), []), plan) for recipe in recipes]

    def _best(self, recipe: Recipe, found: Sequence[Run], plan: str | None) -> Run | None:
        finished = [run for run in found if run.status().state == statuses.FINISHED]
        if finished:
            try:
                now = self.digests(recipe)
            except StrataError:  # the text is gone: what was measured on it stays
                return finished[0]
            for run in finished:
                then = run.recipe().made_with
                if all(then.get(what) == digest for what, digest in now.items()):
                    return run
        left = (run for run in found if run not in finished)
        return next((run for run in left if plan is None or is_of_plan(run, plan)), None)


def is_of_plan(run: Run, plan: str) -> bool:
    """Whether a run was made by the plan with this id."""
    return bool(plan) and run.status().facts.plan == plan


class _Key:
    """A recipe without its seed, as a key of what was read for it."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe, self._value = recipe, _identity(replace(recipe, seeds=(0,)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self._value == other._value

    def __hash__(self) -> int:
        return hash(self._value)


def _digests_of(key: _Key) -> Digests:
    return read_texts(key.recipe).digests()


def _identity(recipe: Recipe) -> str:
    """Every value of a recipe, in one text."""
    return replace(recipe, made_with={}).as_yaml()


def _by_recipe() -> dict[str, list[Run]]:
    """Every run of the user by its recipe, newest first."""
    found: dict[str, list[Run]] = {}
    for run in runs.every():
        with suppress(StrataError):  # an unreadable recipe is a different one
            found.setdefault(_identity(run.recipe()), []).append(run)
    return found
