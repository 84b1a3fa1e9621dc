"""Strata: analyse and fine-tune every layer of a sentence encoder.

The folders follow a sentence through the program: data → encoding → measuring → drawing → ui. A folder imports
earlier folders only (tests/test_floors.py). For notebooks there is `from explorer import load, embed, score, compare,
changes, explain`.
"""

_FOR_NOTEBOOKS = ("load", "embed", "score", "compare", "changes", "explain")


def __getattr__(name: str) -> object:
    """The functions for notebooks, found when they are asked for: `import explorer` alone is free."""
    if name not in _FOR_NOTEBOOKS:
        raise AttributeError(f"module 'explorer' has no attribute '{name}'")
    import importlib

    return getattr(importlib.import_module("explorer.notebook"), name)
