"""Parse typed text, one sentence per line; repeated sentences are kept."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Lines:
    """The sentences, the number of empty lines, and the number of sentences beyond the limit."""

    sentences: tuple[str, ...]
    empty: int
    left_out: int


def read_lines(text: str, most: int) -> Lines:
    """The first `most` sentences of a text with one sentence per line."""
    return taken(text.split("\n"), most)


def taken(cells: Iterable[str], most: int) -> Lines:
    """The first `most` sentences, with single spaces between their words."""
    squeezed = [" ".join(cell.split()) for cell in cells]
    found = [sentence for sentence in squeezed if sentence]
    return Lines(tuple(found[:most]), len(squeezed) - len(found), max(0, len(found) - most))
