"""The recipe of the demonstration, on text that ships with Strata; docs/results.md has its numbers over five seeds."""

from __future__ import annotations

from functools import cache

from explorer.data.sample import FOLDER
from explorer.training.recipe import Recipe, read

FILE = FOLDER / "demonstration.yaml"


@cache
def demonstration() -> Recipe:
    """The default first run: what the form starts with, and what the example run was made by."""
    return read(FILE)
