"""Write CSV so that no text in it is run as a formula when a spreadsheet opens it.

A spreadsheet computes a cell that starts with one of = + - @, also in full width, and also after spaces, line breaks
or characters that are not shown: a sentence such as `=cmd|...` could start a program. An apostrophe before it makes it
text. Reading the file here takes it away again.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable

# spaces, line breaks, controls, and characters without a width
_UNSEEN = r"[\s\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]"
_FORMULA = re.compile(rf"'*(?:{_UNSEEN}*[=+\-@＝＋－＠]|[\t\r\n])")
# A whole cell of numbers, as tables write them: -3.2, -0.5 ± 0.1, +1.10 (0.36 to 1.77). Whoever wrote it, it is no
# formula, and would not be a number after an apostrophe.
_NUMBER = r"[+\-]?[0-9][0-9,]*(?:\.[0-9]+)?(?:e[+\-]?[0-9]+)?"
_NUMBERS = re.compile(rf"{_NUMBER}(?: ± {_NUMBER})?(?: to {_NUMBER})?(?: \({_NUMBER} to {_NUMBER}\))?")


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
