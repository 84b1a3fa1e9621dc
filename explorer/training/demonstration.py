"""The recipe of the demonstration: a run on text that ships with Strata, measured over five seeds in docs/results.md."""

from __future__ import annotations

from functools import cache

from explorer.data.sample import FOLDER
from explorer.training.recipe import Recipe, read

FILE = FOLDER / "demonstration.yaml"


@cache
def demonstration() -> Recipe:
    """The default first run: what the form starts with, and what the example run was made by."""
    return read(FILE)
