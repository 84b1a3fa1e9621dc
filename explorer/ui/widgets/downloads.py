"""Download buttons for tables, and safe file names."""

from __future__ import annotations

import re

import streamlit as st

from explorer.measuring.scores.score_tables import as_csv


def rows(numbers: list[dict[str, object]], stem: str, label: str) -> None:
    """A button that downloads the numbers of a figure as CSV."""
    st.download_button(
        label,
        lambda: as_csv(numbers),
        f"{file_name(stem)}.csv",
        "text/csv",
        icon=":material/table:",
        on_click="ignore",
        key=f"{label} {stem}",
    )


def file_name(text: str) -> str:
    """Text turned into a file name that is valid on every disk."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-.") or "strata"
