"""Read a column of numbers, such as scores: all in one notation, with a decimal point or with a decimal comma.

`1,000` is 1000 where a point is the decimal mark, and 1.0 where a comma is: the other cells of its column decide.
"""

import math
import re
from collections.abc import Mapping, Sequence

from explorer.data.tables.table import Table
from explorer.errors import BadScores

Pair = tuple[float | None, float | None]  # what a cell is with a decimal point, and with a decimal comma

_APART = "'’ \u00a0\u2009\u202f"  # other marks between thousands: apostrophes, and the spaces of SI
LARGE, TIMES = 100, 10  # a number above the first and so many times another one is on another scale

MISSING = "score missing, NaN or infinite"
TEXT = "score is text"
CLASSES = 10  # at most this many distinct, repeated words are classes, not scores
SPREADS = 1e-100, 1e100  # of the range of scores: squares of smaller or larger ranges are not finite in float64
NOISE = 1e-9  # share of the largest score: smaller differences are lost in rounding
NLI_CODES = {0.0, 1.0, 2.0}  # entailment, neutral, contradiction; -1 if the annotators disagree


def _notation(decimal: str, thousands: str) -> re.Pattern[str]:
    """Numbers with these marks, in the digits 0 to 9: `float` also takes `1_000`, and digits of every script."""
    grouped = rf"[1-9][0-9]{{0,2}}(?P<mark>[{thousands}{_APART}])[0-9]{{3}}(?:(?P=mark)[0-9]{{3}})*(?:{decimal}[0-9]*)?"
    plain = rf"(?={decimal}?[0-9])[0-9]*(?:{decimal}[0-9]*)?(?:e[+-]?[0-9]+)?"
    return re.compile(rf"[+-]?(?:{grouped}|{plain}|nan|inf|infinity)", re.IGNORECASE)


_POINT, _COMMA = _notation(r"\.", ","), _notation(",", r"\.")


def notations(cell: str) -> Pair:
    """The number in a cell with a decimal point, and with a decimal comma; None where it is none."""
    text = cell.strip()
    point, comma = _POINT.fullmatch(text), _COMMA.fullmatch(text)
    return (
        None if point is None else float(text.replace(point["mark"] or " ", "")),
        None if comma is None else float(text.replace(comma["mark"] or " ", "").replace(",", ".")),
    )


def is_number(cell: str) -> bool:
    """Whether a cell holds a number in either notation."""
    return notations(cell) != (None, None)


def numbers(cells: Sequence[str]) -> tuple[float | None, ...]:
    """The number in each cell, NaN if it is empty, None if it is text; ValueError if the notation is not clear."""
    pairs = {cell: notations(cell) for cell in dict.fromkeys(cells)}
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


def gold_scores(table: Table, column: str) -> tuple[tuple[float, ...], tuple[str, ...]]:
    """One number per row, NaN if missing; and one fault per row, "" if none."""
    cells = table.column(column)
    try:
        found = numbers(cells)
    except ValueError as error:
        raise BadScores(f"{table.name}, {column!r}: {error}") from error
    faults = tuple(TEXT if number is None else "" if math.isfinite(number) else MISSING for number in found)
    if cells and all(faults):
        texts = [cell.strip() for cell, fault in zip(cells, faults, strict=True) if fault == TEXT]
        distinct, first = sorted(set(texts)), ", ".join(repr(text) for text in texts[:3])
        if not texts:
            wrong = f"every score in {column!r} is missing, NaN or infinite. Fill them in, or choose another column."
        elif len(distinct) <= CLASSES and 2 * len(distinct) <= len(texts):
            wrong = (
                f"{column!r} holds classes ({', '.join(distinct)}), not scores. Choose a column of numbers; "
                "from NLI data make triplets instead: a sentence, an entailed one, a contradicting one."
            )
        else:
            wrong = (
                f"no score in {column!r} is a number; the first are {first}. "
                "Choose a column of numbers, written like 3.5 or 3,5 in the digits 0 to 9, without a unit."
            )
        raise BadScores(f"{table.name}: {wrong}")
    values = {number for number, fault in zip(found, faults, strict=True) if number is not None and not fault}
    if column.strip().lower() in ("label", "labels") and values - {-1.0} == NLI_CODES:
        raise BadScores(
            f"{table.name}: {column!r} holds only 0, 1 and 2, like NLI classes (entailment, neutral, "
            "contradiction), where higher is not more similar. If they are scores, call the column 'score'."
        )
    return tuple(math.nan if number is None else number for number in found), faults


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
