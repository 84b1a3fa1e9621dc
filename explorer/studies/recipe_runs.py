"""Find the runs of recipes that were trained already: recipe, model and text are the same."""

from collections.abc import Sequence
from contextlib import suppress
from functools import cache

from explorer.encoding.locate import model_names
from explorer.errors import StrataError
from explorer.measuring.scores.verdict import ELSEWHERE
from explorer.training.loop.training_texts import read_texts
from explorer.training.recipe import Recipe
from explorer.training.record import runs
from explorer.training.record import status as statuses

APART = {"made_with", "seeds", "elsewhere", "elsewhere_most"}  # values of which runs of one recipe may have others
Digests = dict[str, str | None]
Known = tuple[runs.Run, Recipe]


class RecipeRuns:
    """The runs of recipes, from what is on the disk; `digests` remembers what it has read."""

    def __init__(self) -> None:
        self._texts: dict[str, Digests] = {}  # of recipes that differ in their seed only
        self._model = cache(lambda model: model_names.find(model).digest)

    def digests(self, recipe: Recipe) -> Digests:
        """The digests that the recipe's run records; an error if text or model cannot be read."""
        models, same = self._models(recipe), _of_any_seed(recipe)
        if same not in self._texts:
            self._texts[same] = read_texts(recipe).digests()
        return {**models, **self._texts[same]}

    def of(self, recipes: Sequence[Recipe], plan: str | None = None) -> list[runs.Run | None]:
        """The run of each recipe: a finished one, else one to resume, or None.

        A plan, given by its id, resumes its own runs only.
        """
        by_recipe = _by_recipe()
        return [self._best(recipe, by_recipe.get(_of_any_seed(recipe), []), plan) for recipe in recipes]

    def _best(self, recipe: Recipe, of_any_seed: Sequence[Known], plan: str | None) -> runs.Run | None:
        found = [(run, known.made_with) for run, known in of_any_seed if known.seeds == recipe.seeds]
        if not found:
            return None
        now = self._now(recipe, of_any_seed)
        finished = {run for run, _ in found if is_finished(run)}
        for run, then in found:
            if run in finished and all(then.get(what) == digest for what, digest in now.items()):
                return run
        for run, then in found:
            # without digests it has not begun; with others it could not be resumed
            same = all(then.get(what, digest) == digest for what, digest in now.items())
            if run not in finished and same and (plan is None or is_of_plan(run, plan)):
                return run
        return None

    def _now(self, recipe: Recipe, of_any_seed: Sequence[Known]) -> Digests:
        """The digests of what a recipe names; of what can no longer be read, those of its newest run of any seed.

        What was measured on a text that is gone stays, but no row has seeds of two texts.
        """
        with suppress(StrataError):
            return self.digests(recipe)
        newest = next((known.made_with for run, known in of_any_seed if is_finished(run)), {})
        now = {
            what: digest
            for what, digest in newest.items()
            if what.endswith("_digest") and not what.startswith(ELSEWHERE)
        }
        with suppress(StrataError):
            now |= self._models(recipe)
        return now

    def _models(self, recipe: Recipe) -> Digests:
        others = {f"{name}_digest": self._model(model) for name, model in recipe.named_models().items()}
        return {"model_digest": self._model(recipe.model), **others}


def is_of_plan(run: runs.Run, plan: str) -> bool:
    """Whether a run was made by the plan with this id."""
    return bool(plan) and run.status().facts.plan == plan


def is_finished(run: runs.Run) -> bool:
    """Whether a run was trained to its end."""
    return run.status().state == statuses.FINISHED


def _of_any_seed(recipe: Recipe) -> str:
    """Every value of a recipe but its seeds and what it is scored on elsewhere, in one text."""
    return repr({name: value for name, value in recipe.content().items() if name not in APART})


def _by_recipe() -> dict[str, list[Known]]:
    """Every run of the user by its recipe without the seeds, newest first."""
    found: dict[str, list[Known]] = {}
    for run in runs.every():
        with suppress(StrataError):  # an unreadable recipe is a different one
            recipe = run.recipe()
            found.setdefault(_of_any_seed(recipe), []).append((run, recipe))
    return found
