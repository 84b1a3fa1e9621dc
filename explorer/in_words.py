"""Numbers as text and as cells of tables, written alike everywhere: scores, times, sizes, versions, missing ones."""

import importlib.metadata
import math
import platform
from collections.abc import Iterable
from functools import cache
from typing import Any

NONE = "none"  # a missing number is never 0
_UNITS = ("KB", "MB", "GB", "TB")
Rows = list[dict[str, object]]  # of a table, by column


def number(value: float | None, spelled: str = ".2f") -> str:
    """A number, `82.03`, or `none` if it is missing or not finite."""
    return NONE if value is None or not math.isfinite(value) else format(value, spelled)


def duration(seconds: float) -> str:
    """`8 s`, `4 min`, `2 h 05 min`."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02} min"


def size(count: float) -> str:
    """Bytes to three digits, in the unit that shows them: `1.54 GB`, `340 MB`, `12 KB`, `1 byte`."""
    whole = round(count)
    if whole < 1000:
        return f"{whole} byte{'s' * (whole != 1)}"
    amount = whole / 1000
    for unit in _UNITS:
        if amount < 999.5:  # a larger one is rounded to 1 of the next unit
            return f"{amount:.3g} {unit}"
        amount /= 1000
    return f"{1000 * amount:,.0f} {_UNITS[-1]}"


def versions(libraries: Iterable[str]) -> dict[str, str]:
    """The versions of Python and of these libraries."""
    return {"python": platform.python_version()} | {name: _version(name) for name in libraries}


@cache  # read from a file, which takes a millisecond each
def _version(library: str) -> str:
    return importlib.metadata.version(library)


def signed(number: float, digits: int = 2) -> str:
    """`+0.07`, `−0.52`: with its sign, and a minus sign that is not a hyphen."""
    return f"{round(number, digits) + 0.0:+.{digits}f}".replace("-", "−")


def rounded(value: Any, digits: int = 4) -> float | None:
    """A number as a cell of a table; a missing number is an empty cell, never 0."""
    return round(float(value), digits) + 0.0 if value is not None and math.isfinite(value) else None  # 0.0: no -0.0
