"""Cases of recipes: the recipe of a method is changed, then read, told as a command, and written again."""

from __future__ import annotations

from pathlib import Path
from random import Random

from explorer import methods
from explorer.data import safe_yaml
from explorer.training import recipe_file
from explorer.training.recipe import Recipe, Stage
from tests.fuzz import mutants, yaml_texts

MADE_WITH = {"strata": "0.1.0", "base": "0" * 64, "data": ["0" * 64, None], "notes": {"a": 1}, "elsewhere": ["own.csv"]}


def attempt(seed: int, folder: Path, place: Path) -> None:
    """Change a recipe, and use what is read."""
    drawn = Random(seed)
    path = place / "recipe.yaml"
    path.write_bytes(_mutant(drawn))
    read = recipe_file.read(path)
    yaml_texts.check_one_meaning(safe_yaml.text_of(path, ""), {})
    read.command()
    read.every_setting()
    again = recipe_file.from_yaml(read.as_yaml(), "the recipe written again")
    assert again.as_yaml() == read.as_yaml(), "it changes when it is written and read"


def _mutant(drawn: Random) -> bytes:
    stages = tuple(Stage(method, ("sample",)) for method in drawn.sample(sorted(methods.names()), drawn.randrange(3)))
    method = drawn.choice(sorted(methods.names()))
    text = Recipe(method, made_with=MADE_WITH, columns={"sentence": "text"}, stages=stages).as_yaml()
    if drawn.random() < 0.2:
        return mutants.of_bytes(drawn, text.encode())
    return yaml_texts.damaged(drawn, safe_yaml.parsed(text, "the whole recipe", ""))
