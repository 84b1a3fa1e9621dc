"""Write any text into Markdown and CSV so that nothing in it is read as markup, a link or a formula.

A spreadsheet computes a cell that starts with one of = + - @, also in full width, and also after spaces, line breaks
or characters that are not shown: a sentence such as `=cmd|...` could start a program. An apostrophe before it makes it
text. Reading the file in Strata takes it away again.
"""

import csv
import io
import re
from collections.abc import Container, Iterable, Sequence

# What GitHub and others find in text whose escapes were taken away already: addresses, and names of emoji. Between
# its two halves, something that is not shown keeps them apart.
FOUND_LATER = r"(?<=\w)(?=://)|(?<=www)(?=\.)|(?<=[\w.+-])(?=@[\w-]+\.[\w-])|(?<=:)(?=[\w+-]+:)"

_COMMENT = "<!-- -->"
_FOUND_LATER = re.compile(FOUND_LATER, re.IGNORECASE)
# characters of emphasis, links, tags, tables, headings, entities and formulas
_MARKUP = re.compile(r"([\\`*_\[\]<>|~#$]|&(?=[#\w]))")
_BULLET, _ORDINAL = re.compile(r"^([-+])(?=[ -]|$)"), re.compile(r"^([0-9]+)(?=[.)]( |$))")

# spaces, line breaks, controls, and characters without a width
_UNSEEN = r"[\s\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]"
_FORMULA = re.compile(rf"'*(?:{_UNSEEN}*[=+\-@＝＋－＠]|[\t\r\n])")
# A whole cell of numbers, as tables write them: -3.2, -0.5 ± 0.1, +1.10 (0.36 to 1.77). Whoever wrote it, it is no
# formula, and would not be a number after an apostrophe.
_NUMBER = r"[+\-]?[0-9][0-9,]*(?:\.[0-9]+)?(?:e[+\-]?[0-9]+)?"
_NUMBERS = re.compile(rf"{_NUMBER}(?: ± {_NUMBER})?(?: to {_NUMBER})?(?: \({_NUMBER} to {_NUMBER}\))?")


def one_line(text: str) -> str:
    """Text on one line: line breaks and runs of spaces become single spaces."""
    return " ".join(text.split())


def plain(text: str) -> str:
    """Text within a line of a Markdown file, with markup escaped."""
    escaped = cut_and_escaped(one_line(text), _FOUND_LATER, _MARKUP, _COMMENT)
    return _ORDINAL.sub(r"\1\\", _BULLET.sub(r"\\\1", escaped))


def cut_and_escaped(text: str, found_later: re.Pattern[str], markup: re.Pattern[str], seam: str) -> str:
    """Text with a backslash before each character of `markup`, and with a `seam` at each place of `found_later`."""
    return seam.join(markup.sub(r"\\\1", part) for part in found_later.split(text))


def fenced(language: str, text: str) -> str:
    """A code block whose fences are longer than any fence in the text."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def table(header: Sequence[str], rows: Iterable[Sequence[str]], numbers: Container[int] = ()) -> str:
    """A Markdown table of cells that are Markdown already; the columns of `numbers`, by their places, are right."""
    edges = ["---:" if place in numbers else "---" for place in range(len(header))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, edges, *rows))


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Rows as comma-separated text; a missing number is an empty cell, and no text is a formula or another row."""
    lines = []
    for row in rows:
        line = io.StringIO()
        csv.writer(line).writerow(map(guarded, row))  # with its usual end of a line, it quotes \r too
        lines.append(line.getvalue().removesuffix("\r\n"))
    return "".join(f"{line}\n" for line in lines)


def guarded(cell: object) -> object:
    """A cell as it is written: text that would be a formula gets an apostrophe; numbers stay numbers."""
    is_formula = isinstance(cell, str) and _FORMULA.match(cell) and not _NUMBERS.fullmatch(cell)
    return f"'{cell}" if is_formula else cell


def unguarded(cell: str) -> str:
    """The text of a cell as it was before `guarded`."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell[1:]) else cell
