"""Export the comparison as one HTML report, made on request."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from explorer.drawing.reports.report import report
from explorer.measuring.comparing.comparison_report import Findings
from explorer.measuring.scores.measure import Settings
from explorer.ui.compare import geometry_view
from explorer.ui.compare.geometry_view import Sides
from explorer.ui.widgets import downloads

_ASKED = "report asked for"
FILE = "Report (HTML)"


def offer(findings: Findings, sides: Sides, pooling: str, settings: Settings) -> None:
    """A button that makes the report; once the geometry is computed, a button that downloads it."""
    what = f"{[(side.measured, side.reading.title) for side in sides]} {pooling}"
    there = geometry_view.is_there(sides, pooling, settings)
    if not there and st.session_state.get(_ASKED) != what:
        st.button(
            "Create report (HTML)",
            key="create report",
            icon=":material/description:",
            on_click=lambda: st.session_state.update({_ASKED: what}),
            help="Encodes the sentences with A and B to compute the geometry; then the report can be downloaded.",
        )
        return
    geometry = geometry_view.found(sides, pooling, settings)
    if geometry is None:
        return
    whole = replace(findings, geometry=geometry)
    st.download_button(
        FILE,
        lambda: report(whole, pooling),
        f"{downloads.file_name(f'{sides[0].found.name} {sides[1].found.name} {sides[0].pairs.name}')}.html",
        "text/html",
        icon=":material/description:",
        on_click="ignore",
        help="One self-contained file: figures, tables, improved and worsened pairs, and measurement settings.",
    )
