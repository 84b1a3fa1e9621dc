"""The recipes of the runs that ship: both teach the bundled encoder to distinguish small differences in meaning."""

from __future__ import annotations

from explorer.data.sample import MINIMAL_PAIRS
from explorer.methods import DEMONSTRATION, UNEVEN, load, names
from explorer.training.recipe import Recipe, start_values


def recipe() -> Recipe:
    """The recipe of the demonstration; docs/results.md ("The demonstration") reports how it was chosen."""
    return _of_preset(DEMONSTRATION)


def of_a_pooler() -> Recipe:
    """The recipe of the pooler whose layer weights are not uniform; docs/results.md ("Layer weights") has others."""
    return _of_preset(UNEVEN)


def _of_preset(preset: str) -> Recipe:
    method = next(name for name in names() if preset in load(name).presets)
    return Recipe(method, data=(MINIMAL_PAIRS,), settings=start_values(load(method), "", preset)).checked()
