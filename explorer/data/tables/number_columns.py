"""Read a column of numbers, all in one notation: with a decimal point or with a decimal comma.

`1,000` is 1000 where a point is the decimal mark, and 1.0 where a comma is: the other cells of its column decide.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

Pair = tuple[float | None, float | None]  # what a cell is with a decimal point, and with a decimal comma

_APART = "'’ \u00a0\u2009\u202f"  # other marks between thousands: apostrophes, and the spaces of SI
LARGE, TIMES = 100, 10  # a number above the first and so many times another one is on another scale


def _notation(decimal: str, thousands: str) -> re.Pattern[str]:
    """Numbers with these marks, in the digits 0 to 9: `float` also takes `1_000`, and digits of every script."""
    grouped = rf"[1-9][0-9]{{0,2}}(?P<mark>[{thousands}{_APART}])[0-9]{{3}}(?:(?P=mark)[0-9]{{3}})*(?:{decimal}[0-9]*)?"
    plain = rf"(?={decimal}?[0-9])[0-9]*(?:{decimal}[0-9]*)?(?:e[+-]?[0-9]+)?"
    return re.compile(rf"[+-]?(?:{grouped}|{plain}|nan|inf|infinity)", re.IGNORECASE)


_POINT, _COMMA = _notation(r"\.", ","), _notation(",", r"\.")


def readings(cell: str) -> Pair:
    """The number in a cell with a decimal point, and with a decimal comma; None where it is none."""
    text = cell.strip()
    point, comma = _POINT.fullmatch(text), _COMMA.fullmatch(text)
    return (
        None if point is None else float(text.replace(point["mark"] or " ", "")),
        None if comma is None else float(text.replace(comma["mark"] or " ", "").replace(",", ".")),
    )


def is_number(cell: str) -> bool:
    """Whether a cell holds a number in either notation."""
    return readings(cell) != (None, None)


def numbers(cells: Sequence[str]) -> tuple[float | None, ...]:
    """The number in each cell, NaN if it is empty, None if it is text; ValueError if the notation is not clear."""
    pairs = {cell: readings(cell) for cell in dict.fromkeys(cells)}
    chosen = 1 if _has_decimal_comma(pairs) else 0
    return tuple(pairs[cell][chosen] if cell.strip() else math.nan for cell in cells)


def _has_decimal_comma(pairs: Mapping[str, Pair]) -> bool:
    point = next((cell for cell, (one, other) in pairs.items() if one is not None and other is None), None)
    comma = next((cell for cell, (one, other) in pairs.items() if one is None and other is not None), None)
    if point is not None and comma is not None:
        raise ValueError(
            f"{comma.strip()!r} has a decimal comma, {point.strip()!r} a decimal point. Write all numbers with a "
            "decimal point and without marks between thousands."
        )
    if point is not None or comma is not None:
        return comma is not None
    finite = {
        cell: (one, other)
        for cell, (one, other) in pairs.items()
        if one is not None and other is not None and math.isfinite(one)
    }
    unclear = {cell: sorted(pair, key=abs) for cell, pair in finite.items() if pair[0] != pair[1]}
    if not unclear:
        return False
    largest = max((abs(one) for one, other in finite.values() if one == other), default=0)
    # 950 next to 1,000: as 1.0 it would be on another scale. A point alone is the decimal mark unless that is so.
    apart = largest > LARGE and largest > TIMES * max(abs(decimal) for decimal, _ in unclear.values())
    if {"," in cell for cell in unclear} == {apart}:
        return False
    cell, (decimal, whole) = next(iter(unclear.items()))
    raise ValueError(
        f"{cell.strip()!r} can be {whole:.0f} or {decimal!r}, and no other number of the column shows which. "
        f"Write {whole:.0f}, or {decimal!r}0 with a decimal point."
    )
