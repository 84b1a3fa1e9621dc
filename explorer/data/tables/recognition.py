"""Recognise what a file holds: the kind of rows that its names and its content speak for."""

from __future__ import annotations

from explorer.data.row_kinds import LABELLED_TEXTS, PAIRS, SCORED_PAIRS, SENTENCES, Kind
from explorer.data.tables.columns import (
    LABEL_NAMES,
    are_unlabelled_pairs,
    guess,
    is_mostly_numbers,
    named_column,
    plain,
)
from explorer.data.tables.table import Table

MOST_CLASSES = 20  # of a column that no name calls a label
ROWS_EACH = 5  # the mean number of rows of a class in such a column


def kind_of(table: Table) -> Kind:
    """The kind of rows, as `guess` finds it; labelled texts where a column beside the text has few values."""
    found = guess(table)
    if found.kind == SCORED_PAIRS:
        score = found.column("score") or ""
        words = plain(score) in LABEL_NAMES and not is_mostly_numbers(table.column(score))
        return LABELLED_TEXTS if words else found.kind  # a "score" without numbers is a fault, not a label
    if found.kind == PAIRS and are_unlabelled_pairs(table):
        return found.kind
    return LABELLED_TEXTS if found.kind in (SENTENCES, PAIRS) and _has_classes(table) else found.kind


def _has_classes(table: Table) -> bool:
    """Whether a column has the name of a label and several values, or few values that many rows share."""
    named = named_column(table, LABEL_NAMES)
    label = named or guess(table, LABELLED_TEXTS).column("label")
    if label is None:
        return False
    rows, classes = len(table.rows), len({cell.strip() for cell in table.column(label)} - {""})
    if named:
        return 2 <= classes <= max(2, rows // 2)
    return 2 <= classes <= MOST_CLASSES and ROWS_EACH * classes <= rows
