"""Columns of a table beside those that its rows are read from: kept with the rows, so that scores can be split by them.

Scores do not depend on them, so they are no part of a set's digest.
"""

import math
from collections.abc import Sequence
from itertools import compress, pairwise

from explorer.data.set_items import Attribute
from explorer.data.tables import columns
from explorer.data.tables.table import ColumnRoles, Table

MOST_VALUES = 50  # of a column of names: one with more, such as ids or texts, makes no groups
NAMED = 8  # whole numbers with at most so many values are names, such as numbered classes


def further(table: Table, roles: ColumnRoles, faults: Sequence[str]) -> tuple[Attribute, ...]:
    """The columns without a role that divide the rows without a fault: numbers, or names of which rows share each.

    The sub-corpus is among them, by the name of its column.
    """
    good = [not fault for fault in faults]
    taken = {column for role, column in roles.chosen if role != "part"}
    found = []
    for name in table.columns:
        if name not in taken:
            cells = tuple(" ".join(cell.split()) for cell in compress(table.column(name), good))
            if len({*cells}) > MOST_VALUES and not columns.is_mostly_numbers(cells[: columns.SAMPLE]):
                continue  # known without a look at every cell
            attribute = Attribute(name, numbers_or_names(cells))
            if _divides(attribute):
                found.append(attribute)
    return tuple(found)


def _divides(attribute: Attribute) -> bool:
    """Whether a column has several values, does not count the rows, and if it holds names, has few of them."""
    cells = attribute.cells
    if attribute.counts:
        numbers = [cell for cell in cells if isinstance(cell, float)]
        return len({*numbers}) > 1 and not all(after - before == 1 for before, after in pairwise(numbers))
    return 1 < len({*cells}) <= min(MOST_VALUES, max(2, len(cells) // 2))


def numbers_or_names(cells: Sequence[str]) -> tuple[float, ...] | tuple[str, ...]:
    """Numbers if every non-empty cell is one, in a notation that is clear; else names."""
    try:
        found = columns.numbers(cells)
    except ValueError:
        return tuple(cells)
    numbers = tuple(number for number in found if number is not None)
    finite = [number for number in numbers if math.isfinite(number)]
    labels = len({*finite}) <= NAMED and all(number.is_integer() for number in finite)
    if labels or len(numbers) < len(found) or any(map(math.isinf, numbers)):
        return tuple(cells)
    return numbers
