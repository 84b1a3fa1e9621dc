"""Read a retrieval set from pairs of a query and a passage: the passages of all pairs are the documents."""

from __future__ import annotations

from collections.abc import Mapping as Lookup

from explorer.data.retrieval.retrieval_set import RetrievalSet, of_pairs
from explorer.data.row_kinds import PAIRS
from explorer.data.tables import text_rows
from explorer.data.tables.columns import guess
from explorer.data.tables.row_reports import Report
from explorer.data.tables.table import Table


def read(table: Table, columns: Lookup[str, str | None] | None = None) -> tuple[RetrievalSet, Report]:
    """The set in a table of pairs, with columns detected or given by role, and a report on its rows."""
    (queries, passages), report = text_rows.texts(table, guess(table, PAIRS).corrected(columns or {}))
    return of_pairs(table.name, queries, passages), report
