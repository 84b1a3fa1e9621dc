"""Keep text of a CSV file from being run as a formula when a spreadsheet opens it.

A spreadsheet computes a cell that starts with one of = + - @, also after a tab or a carriage return: a sentence such as
`=cmd|...` could start a program. An apostrophe before it makes it text. Reading the file here takes it away again.
"""

from __future__ import annotations

import re

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_GUARDED = re.compile(r"'+[=+\-@\t\r]")


def guarded(cell: object) -> object:
    """A cell as it is written: text that would be a formula gets an apostrophe; numbers stay numbers."""
    return f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) else cell


def unguarded(cell: str) -> str:
    """The text of a cell as it was before `guarded`."""
    return cell[1:] if _GUARDED.match(cell) else cell
