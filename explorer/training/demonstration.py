"""The run that a first visitor starts: small differences of meaning, taught to the bundled encoder."""

from __future__ import annotations

from explorer.data.sample import FOLDER
from explorer.training.recipe import Recipe, read


def recipe() -> Recipe:
    """The recipe, as it was found by measurement (docs/results.md, "The demonstration")."""
    return read(FOLDER / "demonstration.yaml")
