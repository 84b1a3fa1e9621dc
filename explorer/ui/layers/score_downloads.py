"""Download the scores as a table and the figure as an HTML page."""

from __future__ import annotations

from html import escape

import streamlit as st

from explorer.drawing.scores import by_layer
from explorer.measuring.scores.score_tables import as_csv, score_rows
from explorer.ui.access.side_scores import Shown
from explorer.ui.widgets import downloads


def offer(shown: Shown, metric: str, aggregate: str) -> None:
    """The table with its download, and the figure as an HTML page."""
    table = score_rows(shown.scores)
    downloads.table(table, lines=8)
    stem = downloads.file_name(f"{shown.found.name}-{shown.pairs.name}")
    with st.container(horizontal=True):
        st.download_button(
            "Table (CSV)", as_csv(table), f"{stem}.csv", "text/csv", icon=":material/table:", on_click="ignore"
        )
        # made on request: the self-contained page includes 4 MB of plotly
        st.download_button(
            "Figure (HTML)",
            lambda: _page(shown, metric, aggregate),
            f"{stem}.html",
            "text/html",
            icon=":material/show_chart:",
            on_click="ignore",
        )
    st.caption("To save a figure as SVG or PNG, use the camera in its corner; set the figure format in the sidebar.")


def _page(shown: Shown, metric: str, aggregate: str) -> bytes:
    figure = by_layer.score_by_layer(shown.scores, metric, aggregate, shown.reading)
    title = escape(f"{shown.found.name} on {shown.pairs.name}", quote=False)
    # margins for the title and the axis numbers
    figure.update_layout(template="plotly_white", title={"text": title, "y": 0.97}, margin={"t": 100, "l": 70})
    page: str = figure.to_html(include_plotlyjs=True, full_html=True)
    return page.encode()
