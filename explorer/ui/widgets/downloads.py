"""Download buttons for tables, and safe file names."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

import streamlit as st

from explorer.measuring.scores.score_tables import as_csv, for_people
from explorer.ui import messages

if TYPE_CHECKING:
    from streamlit.elements.lib.column_config_utils import ColumnConfigMappingInput

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


def table(numbers: Rows, *, lines: int | None = None, columns: ColumnConfigMappingInput | None = None) -> None:
    """The numbers of a figure as a table of at most so many lines; what is missing is a dash."""
    height: int | Literal["auto"] = "auto" if lines is None else 38 * min(lines, len(numbers) + 1)
    st.dataframe(
        for_people(numbers), hide_index=True, height=height, column_config=columns, placeholder=messages.MISSING
    )


def file_name(text: str) -> str:
    """Text turned into a file name that is valid on every disk."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-.") or "strata"
