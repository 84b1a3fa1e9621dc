"""Which grades does a column of scores hold? Finite numbers; cells that are none are named as faults."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from explorer.data.tables.table import Table
from explorer.errors import BadScores

MISSING = "score missing, NaN or infinite"
TEXT = "score is text"
CLASSES = 10  # at most so many different words, each used again and again, are classes rather than grades
SPREADS = 1e-100, 1e100  # from the lowest to the highest: squares of less or more are no numbers in float64
NOISE = 1e-9  # of the largest: grades that differ by less drown in rounding once their mean is taken away
NLI_CODES = {0.0, 1.0, 2.0}  # entailment, neutral, contradiction; -1 where the annotators disagree

_COMMA = re.compile(r"\s*[+-]?\d*,\d+\s*")  # a decimal comma, as most of Europe writes it: one, and no point beside it


def as_number(cell: str) -> float:
    """The number in a cell, with a decimal point or comma; ValueError where there is none."""
    return float(cell.replace(",", ".") if _COMMA.fullmatch(cell) else cell)


def grades(table: Table, column: str) -> tuple[tuple[float, ...], tuple[str, ...]]:
    """One number a row, NaN where there is none; and one fault a row, "" where there is none."""
    cells = table.column(column)
    numbers = tuple(map(_number, cells))
    faults = tuple(map(_fault, numbers))
    if cells and all(faults):
        raise BadScores(f"{table.name}: {_what_is_wrong(column, cells, faults)}")
    found = {number for number, fault in zip(numbers, faults, strict=True) if number is not None and not fault}
    if column.strip().lower() in ("label", "labels") and found - {-1.0} == NLI_CODES:
        raise BadScores(
            f"{table.name}: {column!r} holds only 0, 1 and 2, as NLI classes do (entailment, neutral, "
            "contradiction), where more is not more alike. If yours are grades, call the column 'score'."
        )
    return tuple(math.nan if number is None else number for number in numbers), faults


def scaled(gold: Sequence[float]) -> tuple[float, ...]:
    """Scores from 0, the lowest there is, to 1, the highest; 0 where all are the same."""
    low, high = min(gold), max(gold)
    return tuple((score - low) / (high - low) if high > low else 0.0 for score in gold)


def check_spread(table: Table, column: str, gold: Sequence[float]) -> None:
    """Raise if all grades are one value, or as good as one, or endlessly apart: nothing can correlate with them."""
    low, high = min(gold), max(gold)
    if low == high:
        raise BadScores(
            f"{table.name}: every score in {column!r} is {gold[0]:g}, so there is no order to agree with. "
            "Choose a column whose scores differ."
        )
    least, most = SPREADS
    if not max(least, NOISE * max(-low, high)) <= high - low <= most:
        apart = "far apart" if high - low > most else "close together"
        raise BadScores(
            f"{table.name}: the scores in {column!r} run from {low!r} to {high!r}, too {apart} to be calculated with. "
            "Bring them to a scale such as 0 to 5, or choose another column."
        )


def _number(cell: str) -> float | None:
    """The number in a cell, NaN if the cell is empty, None if it is text."""
    try:
        return as_number(cell) if cell.strip() else math.nan
    except ValueError:
        return None


def _fault(number: float | None) -> str:
    if number is None:
        return TEXT
    return "" if math.isfinite(number) else MISSING


def _what_is_wrong(column: str, cells: Sequence[str], faults: Sequence[str]) -> str:
    texts = [cell.strip() for cell, fault in zip(cells, faults, strict=True) if fault == TEXT]
    if not texts:
        return f"every score in {column!r} is missing, NaN or infinite. Fill them in, or choose another column."
    distinct = sorted(set(texts))
    if len(distinct) <= CLASSES and 2 * len(distinct) <= len(texts):
        return (
            f"{column!r} holds classes ({', '.join(distinct)}), not grades. Choose a column of numbers; "
            "from NLI data make triplets instead: a sentence, what it entails, what contradicts it."
        )
    first = ", ".join(repr(text) for text in texts[:3])
    return (
        f"no score in {column!r} is a number; the first are {first}. "
        "Choose a column of numbers, written like 3.5 or 3,5, without a unit."
    )
