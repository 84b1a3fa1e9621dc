"""Escape any text as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

# characters of emphasis, links, tags, tables, headings, entities and formulas
_MARKUP = re.compile(r"([\\`*_\[\]<>|~#&$])")


def one_line(text: str) -> str:
    """Text on one line: line breaks and runs of spaces become single spaces."""
    return " ".join(text.split())


def plain(text: str) -> str:
    """Text within a line, with markup escaped."""
    return _MARKUP.sub(r"\\\1", one_line(text))


def fenced(language: str, text: str) -> str:
    """A code block whose fences are longer than any fence in the text."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are Markdown already."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
