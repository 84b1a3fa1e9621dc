"""Strata: what every layer of a sentence encoder knows.

Read the folders as the way of a sentence: data → encoding → measuring → drawing → ui. An import goes down
these floors or sideways, never up (tests/test_floors.py). This file imports nothing, so `import explorer` is free.
"""
