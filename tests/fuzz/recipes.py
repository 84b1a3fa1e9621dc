"""Cases of recipes: the recipe of a method is changed, then read, told as a command, and written again."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random
from typing import Any

import yaml

from explorer import methods
from explorer.training import recipe as recipes
from explorer.training.recipe import Recipe
from tests.fuzz import mutants

MADE_WITH = {"strata": "0.1.0", "base": "0" * 64, "data": ["0" * 64, None], "notes": {"a": 1}}
_BROKEN = re.compile("[\ud800-\udfff]")


def prepare(folder: Path) -> None:
    """Need nothing."""


def attempt(seed: int, folder: Path, place: Path) -> None:
    """Change a recipe, and use what is read."""
    drawn = Random(seed)
    path = place / "recipe.yaml"
    path.write_bytes(_mutant(drawn))
    read = recipes.read(path)
    read.command()
    read.every_setting()
    again = recipes.from_yaml(read.as_yaml(), "the recipe written again")
    assert again.as_yaml() == read.as_yaml(), "it changes when it is written and read"


def _mutant(drawn: Random) -> bytes:
    method = drawn.choice(sorted(methods.names()))
    text = Recipe(method, made_with=MADE_WITH, columns={"sentence": "text"}).as_yaml()
    if drawn.random() < 0.4:
        return mutants.of_bytes(drawn, text.encode())
    content: Any = mutants.of_json(drawn, yaml.safe_load(text))
    if drawn.random() < 0.5:  # JSON is YAML
        return mutants.text_of(drawn, content).encode()
    return _BROKEN.sub("?", yaml.safe_dump(content, allow_unicode=True)).encode()
