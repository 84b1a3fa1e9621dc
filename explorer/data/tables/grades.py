"""Read a column of scores: finite numbers; other cells are reported as faults."""

from __future__ import annotations

import math
from collections.abc import Sequence

from explorer.data.tables import number_columns
from explorer.data.tables.table import Table
from explorer.errors import BadScores

MISSING = "score missing, NaN or infinite"
TEXT = "score is text"
CLASSES = 10  # at most this many distinct, repeated words are classes, not scores
SPREADS = 1e-100, 1e100  # of the range of scores: squares of smaller or larger ranges are not finite in float64
NOISE = 1e-9  # share of the largest score: smaller differences are lost in rounding
NLI_CODES = {0.0, 1.0, 2.0}  # entailment, neutral, contradiction; -1 if the annotators disagree


def grades(table: Table, column: str) -> tuple[tuple[float, ...], tuple[str, ...]]:
    """One number per row, NaN if missing; and one fault per row, "" if none."""
    cells = table.column(column)
    try:
        numbers = number_columns.numbers(cells)
    except ValueError as error:
        raise BadScores(f"{table.name}, {column!r}: {error}") from error
    faults = tuple(map(_fault, numbers))
    if cells and all(faults):
        raise BadScores(f"{table.name}: {_what_is_wrong(column, cells, faults)}")
    found = {number for number, fault in zip(numbers, faults, strict=True) if number is not None and not fault}
    if column.strip().lower() in ("label", "labels") and found - {-1.0} == NLI_CODES:
        raise BadScores(
            f"{table.name}: {column!r} holds only 0, 1 and 2, like NLI classes (entailment, neutral, "
            "contradiction), where higher is not more similar. If they are scores, call the column 'score'."
        )
    return tuple(math.nan if number is None else number for number in numbers), faults


def scaled(gold: Sequence[float]) -> tuple[float, ...]:
    """Scale scores to 0 (lowest) to 1 (highest); 0 if all are equal."""
    low, high = min(gold), max(gold)
    return tuple((score - low) / (high - low) if high > low else 0.0 for score in gold)


def check_spread(table: Table, column: str, gold: Sequence[float]) -> None:
    """Raise if all scores are (almost) equal, or too far apart: no correlation is defined."""
    low, high = min(gold), max(gold)
    if low == high:
        raise BadScores(
            f"{table.name}: every score in {column!r} is {gold[0]:g}, so a correlation is undefined. "
            "Choose a column whose scores differ."
        )
    least, most = SPREADS
    if not max(least, NOISE * max(-low, high)) <= high - low <= most:
        apart = "far apart" if high - low > most else "close together"
        raise BadScores(
            f"{table.name}: the scores in {column!r} range from {low!r} to {high!r}, too {apart} to compute with. "
            "Rescale them, for example to 0 to 5, or choose another column."
        )


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
            f"{column!r} holds classes ({', '.join(distinct)}), not scores. Choose a column of numbers; "
            "from NLI data make triplets instead: a sentence, an entailed one, a contradicting one."
        )
    first = ", ".join(repr(text) for text in texts[:3])
    return (
        f"no score in {column!r} is a number; the first are {first}. "
        "Choose a column of numbers, written like 3.5 or 3,5 in the digits 0 to 9, without a unit."
    )
