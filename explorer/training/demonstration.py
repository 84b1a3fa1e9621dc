"""The demonstration run: train the bundled encoder to distinguish small differences in meaning."""

from __future__ import annotations

from explorer.data.sample import MINIMAL_PAIRS
from explorer.methods import DEMONSTRATION, load, names
from explorer.training.recipe import Recipe, start_values


def recipe() -> Recipe:
    """The recipe of the demonstration; docs/results.md ("The demonstration") reports how it was chosen."""
    method = next(name for name in names() if DEMONSTRATION in load(name).presets)
    return Recipe(method, data=(MINIMAL_PAIRS,), settings=start_values(load(method), "", DEMONSTRATION)).checked()
