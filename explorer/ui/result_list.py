"""What did a side find? A list with rank, mark and cosine; a click on a sentence makes it the query."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from explorer.measuring.search_tables import found_rows, told_mark
from explorer.measuring.searching import Result
from explorer.ui import downloads, query_form

ROW, HEAD = 58, 36  # pixels; a row holds two lines of a sentence
MOST_ROWS = 10  # seen at once


def show(results: Sequence[Result], sentences: Sequence[str], side: str, other: str, query: str) -> None:
    """The list of a side; `other` names the other, "" where there is none."""
    rows = [
        {
            "#": result.rank,
            **({"mark": told_mark(result, other)} if other else {}),
            "sentence": sentences[result.place],
            "cosine": result.cosine,
        }
        for result in results
    ]
    clickable(
        rows,
        f"found by {side} {query}",
        {
            "#": st.column_config.NumberColumn(width=36),
            "mark": st.column_config.TextColumn(width=92, help=f"Its rank in {other}, of all sentences."),
            "sentence": st.column_config.TextColumn(width="large"),
            "cosine": st.column_config.NumberColumn(format="%.3f", width=62),
        },
    )
    downloads.rows(found_rows(results, sentences, other), f"{side} {query[:40]}", f"{side} (CSV)")


def clickable(rows: list[dict[str, object]], name: str, columns: Mapping[str, Any]) -> None:
    """A table in which a click on any cell makes the row's sentence the query."""
    # its key is what it holds: another query brings a list of its own, in which nothing is selected yet
    key = f"list {hashlib.sha256(f'{name} {rows}'.encode('utf-8', 'surrogatepass')).hexdigest()}"
    st.dataframe(
        rows,
        hide_index=True,
        height=HEAD + ROW * min(MOST_ROWS, len(rows)) + 2,
        row_height=ROW,
        column_config=dict(columns),
        key=key,
        on_select=lambda: _search_for(key, rows),
        selection_mode="single-cell",
    )


def _search_for(key: str, rows: list[dict[str, object]]) -> None:
    cells = st.session_state[key]["selection"]["cells"]
    if cells:
        query_form.choose(str(rows[cells[0][0]]["sentence"]))
