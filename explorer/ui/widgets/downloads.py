"""Download buttons for tables, and safe file names."""

from __future__ import annotations

import re
from collections.abc import Callable

import streamlit as st

from explorer.measuring.scores.score_tables import as_csv

Rows = list[dict[str, object]]


def rows(numbers: Rows | Callable[[], Rows], stem: str, label: str) -> None:
    """A button that downloads the numbers of a figure as CSV; very many are gathered only when it is clicked."""
    st.download_button(
        label,
        lambda: as_csv(numbers() if callable(numbers) else numbers),
        f"{file_name(stem)}.csv",
        "text/csv",
        icon=":material/table:",
        on_click="ignore",
        key=f"{label} {stem}",
    )


def file_name(text: str) -> str:
    """Text turned into a file name that is valid on every disk."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-.") or "strata"
