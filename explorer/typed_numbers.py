"""Read numbers and shares as they are typed, and write them so that reading gives the same number.

A number that is typed is written in the digits 0 to 9: `int` and `float` also take `1_000`, and digits of every script.
"""

from __future__ import annotations

import re

_WHOLE = re.compile(r"[+-]?[0-9]{1,300}")  # longer ones cannot be compared with a float
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
MOST_ROWS = 10**9  # in a setting


def whole_in(text: str) -> int | None:
    """The whole number that a text states; None if it states none."""
    return int(text) if _WHOLE.fullmatch(text.strip()) else None


def number_in(text: str) -> float | None:
    """The number that a text states, such as `5e-5`; None if it states none."""
    return float(text) if _NUMBER.fullmatch(text.strip()) else None


def percent_in(text: str) -> float | None:
    """The number of percent that a text states, such as `25 %`; None if it states none."""
    return number_in(text.strip()[:-1]) if text.strip().endswith("%") else None


def part_in(value: object) -> str | None:
    """How much of a whole, in the one way in which it is written: `25 %` or `2000`; None if a value states none."""
    percent = percent_in(value) if isinstance(value, str) else None
    if percent is not None:
        return f"{number_text(percent)} %" if 0 < percent <= 100 else None
    whole = whole_in(value) if isinstance(value, str) else value if type(value) is int else None
    return str(whole) if whole is not None and 1 <= whole <= MOST_ROWS else None


def number_of(value: object, kind: type) -> int | float | None:
    """The number that a value is or states, of this kind, int or float; None if there is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    whole = whole_in(value) if isinstance(value, str) else value if isinstance(value, int) else None
    if kind is int and whole is not None:  # not through float, which rounds large integers
        return whole
    try:
        number = number_in(value) if isinstance(value, str) else float(value)
    except OverflowError:
        return None
    if kind is int:
        return int(number) if number is not None and number.is_integer() else None
    return number


def number_text(value: float) -> str:
    """A number as it is typed: `5e-05`."""
    short = f"{value:g}"
    return short if float(short) == value else repr(value)
