"""How does text that anybody wrote become Markdown, and stay the text it is?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

# what would be read as emphasis, a link, a tag, a table's edge, a heading, an entity or a formula
_MARKUP = re.compile(r"([\\`*_\[\]<>|~#&$])")


def one_line(text: str) -> str:
    """Text with its line breaks and runs of spaces as single spaces: a name in a table or a title has none."""
    return " ".join(text.split())


def plain(text: str) -> str:
    """Text within a line, none of it markup."""
    return _MARKUP.sub(r"\\\1", one_line(text))


def fenced(language: str, text: str) -> str:
    """Text as it is, between fences that are longer than any in it."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are Markdown already."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
