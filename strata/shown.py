"""What all results have: a table, and how a notebook shows them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

MOST_ROWS = 12  # of a table that a notebook shows without being asked
HEIGHT = 380  # pixels of a figure, as on pages


class Shown(ABC):
    """A result: `to_frame` has its numbers, and a notebook shows what it says above them."""

    @abstractmethod
    def to_frame(self) -> pd.DataFrame:
        """The numbers as a DataFrame."""

    def _repr_html_(self) -> str:
        """What it says, then its first rows; texts of users are escaped."""
        frame = self.to_frame()
        table = frame.head(MOST_ROWS).to_html(index=False, escape=True, na_rep="", float_format="{:.2f}".format)
        left = len(frame) - MOST_ROWS
        more = f"<p>{left:,} more rows are in <code>to_frame()</code>.</p>" if left > 0 else ""
        return f"<p>{escape(repr(self))}</p>{table}{more}"
