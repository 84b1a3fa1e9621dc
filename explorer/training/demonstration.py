"""The run that a first visitor starts: small differences of meaning, taught to the bundled encoder."""

from __future__ import annotations

from explorer.data import sample
from explorer.training.recipe import Recipe

SETTINGS: dict[str, bool | int | float | str] = {
    "steps": 80,
    "batch_size": 16,
    "learning_rate": 1e-4,
    "select_by": "both",
}


def recipe() -> Recipe:
    """The recipe, as it was found by measurement (docs/results.md, "The demonstration")."""
    return Recipe("contrast-hard", data=(sample.MINIMAL_PAIRS,), settings=SETTINGS).checked()
