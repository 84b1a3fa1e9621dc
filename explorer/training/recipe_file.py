"""Read the recipe.yaml of a run, or one that a person wrote."""

from functools import lru_cache
from pathlib import Path
from typing import Any

from explorer import fair_share
from explorer.data import safe_yaml, sources
from explorer.errors import BadChoice
from explorer.measuring.scores.verdict import ELSEWHERE
from explorer.training.recipe import Recipe


def read(path: Path) -> Recipe:
    """The recipe in a file."""
    return from_yaml(safe_yaml.text_of(path, "Give the recipe.yaml of a run."), str(path))


@lru_cache(maxsize=256)  # pages read the recipes of all runs in every rerun
def from_yaml(text: str, where: str) -> Recipe:
    """The recipe in a file's text."""
    content = safe_yaml.mapping(text, where, "Give a recipe.yaml.")
    content.setdefault(ELSEWHERE, [])  # in runs of before there was a choice, nothing was scored
    if isinstance(content.get("made_with"), dict):
        _check_made_with(content["made_with"], where)
        _name_as_chosen(content)
    return Recipe.read(content, where)


def _check_made_with(made_with: dict[Any, Any], where: str) -> None:
    """Refuse what a run could not go on with."""
    threads, others = made_with.get("threads", 1), made_with.get(ELSEWHERE, [])
    if not fair_share.allowed(threads):
        raise BadChoice(
            f"{where}: made_with: threads cannot be {threads!r}; it must be a whole number from 1 to "
            f"{fair_share.MOST_THREADS:,}. Correct it, or remove it: then this machine decides."
        )
    given = [(ELSEWHERE, name) for name in (others if isinstance(others, list) else [None])]
    given += [("processor", made_with["processor"])] if "processor" in made_with else []
    for name, value in given:
        if not isinstance(value, str):
            raise BadChoice(f"{where}: made_with: {name} cannot be {value!r}; it must be text, in quotes if necessary.")


def _name_as_chosen(content: dict[str, Any]) -> None:
    """Name the sets that were at hand 'at hand', in whose place an earlier run named them."""
    made_with, others = content["made_with"], content[ELSEWHERE]
    if ELSEWHERE not in made_with and f"{ELSEWHERE}_1_digest" in made_with and isinstance(others, list):
        made_with[ELSEWHERE] = others
        content[ELSEWHERE] = [sources.AT_HAND if name in sources.MAYBE_AT_HAND else name for name in others]
