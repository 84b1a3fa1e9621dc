"""The demonstration run: train the bundled encoder to distinguish small differences in meaning."""

from __future__ import annotations

from explorer.data.sample import FOLDER
from explorer.training.recipe import Recipe, read


def recipe() -> Recipe:
    """The recipe of the demonstration; docs/results.md ("The demonstration") reports how it was chosen."""
    return read(FOLDER / "demonstration.yaml")
