"""Strata: analyse and fine-tune every layer of a sentence encoder.

The folders follow a sentence through the program: data → encoding → measuring → drawing → ui. A folder imports
earlier folders only (tests/test_floors.py). For notebooks and scripts there is `import strata`.
"""
