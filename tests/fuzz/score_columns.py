"""Spell the scores of a column in random notations, and read a column with a slow reader of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from random import Random

from explorer.data.tables.columns import gold_scores
from explorer.data.tables.table import Table
from explorer.errors import BadScores
from tests.fuzz import mutants
from tests.fuzz.cases import Fault

APART = ("", "", ",", ".", "'", "’", " ", "\u00a0", "\u202f", "\u2009", "_")  # between thousands
ODD = ("", " ", "nan", "-inf", "1_000", "3_1", "٣", "３", "½", "1,00,000", "1,000,00", "1e3", "1,5E-1", "1.5e-1", "007",
       ",5", ".5", "5.", "5,", "-0,5", "+7", "0x10", "1:30", "010", "9" * 400, "9" * 5000, "1,000", "1.000", "two",
       mutants.NO_USER)  # fmt: skip


def spelled(drawn: Random, count: int) -> list[str]:
    """So many scores of one scale, in one notation or two, with some odd ones among them."""
    largest, digits = drawn.choice((1, 5, 100, 1000, 10_000, 10**7)), drawn.choice((0, 0, 1, 2, 3, 3, 4))
    notations = [(drawn.choice(".,"), drawn.choice(APART)) for _ in range(drawn.choice((1, 1, 1, 2)))]
    found = []
    for _ in range(count):
        mark, apart = drawn.choice(notations)
        number = f"{drawn.uniform(-largest / 10, largest):,.{digits}f}"
        number = number.rstrip("0").rstrip(".") if digits and drawn.random() < 0.2 else number
        found.append(number.replace(",", "\0").replace(".", mark).replace("\0", apart))
    for _ in range(drawn.choice((0, 0, 0, 1, 2))):
        found[drawn.randrange(count)] = drawn.choice(ODD)
    return found


def check_column(table: Table, column: str) -> None:
    """Read a column, and raise unless what is accepted or refused is so by the slow reader too."""
    cells = table.column(column)
    try:
        numbers, faults = gold_scores(table, column)
    except BadScores as error:
        point, comma = _both(cells)
        apart = [(one is None) - (other is None) for one, other in zip(point, comma, strict=True)]
        if "has a decimal comma" in str(error) and not {-1, 1} <= set(apart):
            raise Fault(f"refused for two notations: {error}") from error
        if "can be" in str(error) and (point == comma or any(apart)):
            raise Fault(f"refused for two values: {error}") from error
    else:
        _check(cells, numbers, faults)


def _check(cells: Sequence[str], numbers: Sequence[float], faults: Sequence[str]) -> None:
    """Raise unless an accepted column has the values of the one notation that its cells allow."""
    point, comma = _both(cells)
    read = [None if fault else number for number, fault in zip(numbers, faults, strict=True)]
    fitting = [column for column in (point, comma) if column == read]
    if not fitting:
        raise Fault(f"values of neither notation: {list(zip(cells, read, strict=True))!r:.300}")
    only_point = [cell for cell, one, other in zip(cells, point, comma, strict=True) if other is None is not one]
    only_comma = [cell for cell, one, other in zip(cells, point, comma, strict=True) if one is None is not other]
    if only_point and only_comma:
        raise Fault(f"accepted though {only_point[0]!r:.50} and {only_comma[0]!r:.50} have different notations")
    unclear = [cell for cell, one, other in zip(cells, point, comma, strict=True) if one != other]
    if unclear and not only_point and not only_comma:
        scales = [abs(one) for one, other in zip(point, comma, strict=True) if one is not None and one == other]
        if any("," in cell for cell in unclear) and (max(scales, default=0) <= 100 or read != point):
            raise Fault(f"accepted though {unclear[0]!r:.50} can be read in two ways")


def _both(cells: Sequence[str]) -> tuple[list[float | None], list[float | None]]:
    return [_value(cell, ".", ",") for cell in cells], [_value(cell, ",", ".") for cell in cells]


def _value(cell: str, decimal: str, thousands: str) -> float | None:
    """The finite number in a cell with these marks, by hand; None if it is none."""
    text = cell.strip().lower()
    sign, body = (text[0], text[1:]) if text[:1] in ("+", "-") else ("", text)
    mantissa, e, power = body.partition("e")
    whole, _, part = mantissa.partition(decimal)
    groups = next((whole.split(apart) for apart in thousands + "'’ \u00a0\u2009\u202f" if apart in whole), [whole])
    if len(groups) > 1:
        lengths = [len(group) for group in groups]
        if e or whole[0] == "0" or not 1 <= lengths[0] <= 3 or set(lengths[1:]) != {3}:
            return None
    digits = "".join(groups)
    exponent = power[1:] if power[:1] in ("+", "-") else power
    if not digits + part or set(digits + part + exponent) - set("0123456789") or bool(e) != bool(exponent):
        return None
    try:
        found = float(Decimal(f"{sign}{digits or 0}.{part or 0}e{power or 0}"))
    except ArithmeticError:
        return None
    return found if math.isfinite(found) else None
