"""Write any text as Markdown: nothing in it is read as markup, and no address in it becomes a link."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

# What GitHub and others look for in text whose escapes were taken away already: addresses, and names of emoji. Between
# its two halves, something that is not shown keeps them apart.
FOUND_LATER = r"(?<=\w)(?=://)|(?<=www)(?=\.)|(?<=[\w.+-])(?=@[\w-]+\.[\w-])|(?<=:)(?=[\w+-]+:)"

_COMMENT = "<!-- -->"
_FOUND_LATER = re.compile(FOUND_LATER, re.IGNORECASE)
# characters of emphasis, links, tags, tables, headings, entities and formulas
_MARKUP = re.compile(r"([\\`*_\[\]<>|~#$]|&(?=[#\w]))")
_BULLET, _NUMBER = re.compile(r"^([-+])(?=[ -]|$)"), re.compile(r"^([0-9]+)(?=[.)]( |$))")


def one_line(text: str) -> str:
    """Text on one line: line breaks and runs of spaces become single spaces."""
    return " ".join(text.split())


def plain(text: str) -> str:
    """Text within a line of a file, with markup escaped."""
    escaped = cut_and_escaped(one_line(text), _FOUND_LATER, _MARKUP, _COMMENT)
    return _NUMBER.sub(r"\1\\", _BULLET.sub(r"\\\1", escaped))


def cut_and_escaped(text: str, found_later: re.Pattern[str], markup: re.Pattern[str], seam: str) -> str:
    """Text with a backslash before each character of `markup`, and with a `seam` at each place of `found_later`."""
    return seam.join(markup.sub(r"\\\1", part) for part in found_later.split(text))


def fenced(language: str, text: str) -> str:
    """A code block whose fences are longer than any fence in the text."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def table(header: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: bool = False) -> str:
    """A table of cells that are Markdown already; `numbers` are on the right, in all columns but the first."""
    edges = ["---", *["---:" if numbers else "---"] * (len(header) - 1)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, edges, *rows))
