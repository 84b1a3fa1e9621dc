"""Numbers as text and as cells of tables, written alike everywhere: scores, changes, times, sizes, missing ones.

All numbers that people read have one minus sign, −; JSON, CSV and YAML have a hyphen and are not rounded. A number is
rounded once, where it is shown, and what is shown adds up:

- A difference beside two scores is that of the scores as they are shown (`gap`): 82.31 → 83.44 is +1.13, even if the
  exact one is +1.1351. So it may differ from the exact one by one in its last digit.
- The ends of an interval are rounded as the difference is, which may then lie beyond an end by one in the last digit:
  that end is moved to it. An end that is not 0 is never shown as 0, so that an interval excludes 0 as it is shown if it
  really does: it gets up to two digits more.
- Where one in the last digit is much, as of shares in whole percent, all get the fewest digits (`agreeing_digits`) with
  which the difference of the shown numbers is the exact one, rounded.

`tests/floors.py` refuses numbers with a sign, intervals and `before → after` that are formatted anywhere else.
"""

import importlib.metadata
import math
import platform
from collections.abc import Iterable
from functools import cache
from typing import Any

NONE = "none"  # a missing number is never 0
MINUS, TO = "−", " to "
MORE_DIGITS = 2  # of an end of an interval that would be shown as 0
SAME_VECTOR = 1e-5  # a cosine that is below 1 by less is so through rounding
_UNITS = ("KB", "MB", "GB", "TB")
Rows = list[dict[str, object]]  # of a table, by column


def number(value: float | None, digits: int = 2) -> str:
    """A number, `82.03` or `−0.52`, never `−0.00`; `none` if it is missing or not finite."""
    return _written(value, digits)


def bound(value: float, digits: int = 1) -> str:
    """An upper bound, rounded upwards: what is above the shown one is above the exact one."""
    return number(math.ceil(10**digits * value - 1e-9) / 10**digits, digits)


def signed(value: float | None, digits: int = 2) -> str:
    """A number with its sign, `+0.07` or `−0.52`; 0 is `+0.00`."""
    return _written(value, digits, "+")


def _written(value: float | None, digits: int, sign: str = "") -> str:
    if value is None or not math.isfinite(value):
        return NONE
    return f"{round(float(value), digits) + 0.0:{sign}.{digits}f}".replace("-", MINUS)


def percent(share: float, digits: int = 0) -> str:
    """A share as `63 %`."""
    return f"{number(100 * share, digits)} %"


def arrow(before: float | None, after: float | None, *, digits: int = 2, signs: bool = False) -> str:
    """`82.31 → 83.44`, or with `signs` `+0.12 → −0.07`."""
    return " → ".join((signed if signs else number)(one, digits) for one in (before, after))


def cosine_digits(*cosines: float | None, digits: int = 2) -> int:
    """As many digits as show that no cosine of two different vectors is 1: of 0.9963 three.

    What differs from 1 only through rounding, by less than 1e-5, is 1 in any of them.
    """
    for one in cosines:
        while one is not None and round(float(one), digits) >= 1 > one + SAME_VECTOR:
            digits += 1
    return digits


def cosine(value: float | None, digits: int = 2) -> str:
    """The cosine of two sentences: `0.78`, but `0.996` in place of `1.00`."""
    return number(value, cosine_digits(value, digits=digits))


def cosines(before: float | None, after: float | None, *, digits: int = 2) -> str:
    """`0.78 → 0.45`, or `0.996 → 0.981`."""
    return arrow(before, after, digits=cosine_digits(before, after, digits=digits))


def gap(before: float, after: float, *, digits: int = 2) -> float:
    """The difference of two numbers as they are shown: of `82.31 → 83.44` it is 1.13."""
    return round(round(float(after), digits) - round(float(before), digits), digits) + 0.0


def agreeing_digits(before: float, after: float, low: float, high: float) -> int:
    """The fewest digits with which two numbers, their exact difference and its interval agree; at most `MORE_DIGITS`.

    They agree if the exact difference, rounded, is that of the shown numbers, and nothing but 0 is shown as 0: of
    `3.4 → 4.6`, which differ by 1.14, it is 2, and of `3.4 → 63.1` 0.
    """
    exact = after - before

    def agree(digits: int) -> bool:
        adds_up = math.isclose(gap(before, after, digits=digits), round(exact, digits), abs_tol=1e-9)
        return adds_up and all(round(one, digits) or abs(one) < 1e-9 for one in (exact, low, high))

    return next((digits for digits in range(MORE_DIGITS) if agree(digits)), MORE_DIGITS)


def adding_up(parts: Iterable[float], total: float, *, digits: int = 2) -> list[float]:
    """Parts as they are shown with their total: each rounded up or down, so that they add up to the rounded total.

    Those with the largest remainders are rounded up (Hamilton's method). If one is missing, all stay as they are.
    """
    exact = [float(part) * 10**digits for part in parts]
    if not exact or not all(map(math.isfinite, (*exact, total))):
        return [part / 10**digits for part in exact]
    whole = [math.floor(part) for part in exact]
    left = round(round(total, digits) * 10**digits) - sum(whole)
    largest = sorted(range(len(exact)), key=lambda place: whole[place] - exact[place])
    for place in largest[: max(0, left)]:
        whole[place] += 1
    return [round(part / 10**digits, digits) + 0.0 for part in whole]


def interval(low: float, high: float, *, digits: int = 2) -> str:
    """The ends of an interval of something that is no difference: `0.69 to 0.73`."""
    return TO.join(number(end, digits) for end in (low, high))


def ends(difference: float, low: float, high: float, *, digits: int = 2) -> str:
    """The ends of the interval of a difference, of which `gap` is shown: `−0.10 to +0.94`."""
    shown, unit = round(float(difference), digits), 10.0**-digits
    # 1.5: one in the last digit, and the rounding of the subtraction
    if (over := round(float(low), digits) - shown) > 0 and over < 1.5 * unit and (low <= 0 or shown > 0):
        low = shown
    if (under := shown - round(float(high), digits)) > 0 and under < 1.5 * unit and (high >= 0 or shown < 0):
        high = shown
    return TO.join(signed(end, _digits_of(end, digits)) for end in (low, high))


def _digits_of(end: float, digits: int) -> int:
    """As many digits as show that an end of an interval is not 0, at most `MORE_DIGITS` more."""
    several = range(digits, digits + MORE_DIGITS + 1)
    return next((more for more in several if round(float(end), more)), digits)


def change(difference: float, low: float, high: float, *, digits: int = 2, label: str = "") -> str:
    """A difference, by `gap` if its two scores are shown, with its interval: `+0.42 (−0.10 to +0.94)`.

    The `label` is of the interval: `+0.42 (95 % CI −0.10 to +0.94)`.
    """
    return f"{signed(difference, digits)} ({f'{label} ' * bool(label)}{ends(difference, low, high, digits=digits)})"


def verb(count: int, one: str, many: str) -> str:
    """The form of a verb or pronoun that a count needs: `1 of 19 texts is`, `2 of 19 texts are`."""
    return one if count == 1 else many


def duration(seconds: float) -> str:
    """`8 s`, `4 min`, `2 h 05 min`, `9 days 4 h`, `72 years`."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    hours, days = minutes // 60, minutes // (24 * 60)
    if days < 3:
        return f"{hours} h {minutes % 60:02} min"
    return f"{days} days {hours % 24} h" if days < 730 else f"{days / 365.25:,.0f} years"


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


def rounded(value: Any, digits: int = 4) -> float | None:
    """A number as a cell of a table; a missing number is an empty cell, never 0."""
    return round(float(value), digits) + 0.0 if value is not None and math.isfinite(value) else None  # 0.0: no -0.0
