"""Export a comparison: the table of all cells, and the report."""

from __future__ import annotations

import streamlit as st

from explorer.measuring.comparing.comparison_report import Findings
from explorer.measuring.comparing.comparison_tables import cell_rows
from explorer.measuring.comparing.dev_picking import DevPick
from explorer.measuring.comparing.learned import NOTHING, ProbeChanges
from explorer.measuring.geometry.layer_geometry import LayerGeometry
from explorer.measuring.table_cells import Rows
from explorer.ui.compare import report_button
from explorer.ui.compare.compared import Compared
from explorer.ui.widgets import downloads


def show(
    compared: Compared,
    probes: ProbeChanges | None,
    pick: DevPick | None,
    pooling: str,
    asked: bool,
    geometry: LayerGeometry | None,
) -> None:
    """The table as a file, and the report once its geometry is computed."""
    st.subheader("Export")
    one, other = compared.sides
    if one.graded is None:
        rows = cell_rows(compared.comparison, compared.differences, *compared.ways)
        _table(rows, compared.stem)
        st.caption("The HTML report is made for scored pairs: choose such a set in the sidebar.")
        return
    findings = Findings(
        (one.found, other.found),
        one.graded,
        compared.comparison,
        compared.differences,
        *compared.ways,
        seed=0,
        picked=pick,
        of_models=compared.verdict,
        probes=probes or NOTHING,
    )
    _table(findings.cells(), compared.stem)
    if asked and geometry is None:
        st.caption("The report can be downloaded once the geometry above has been computed.")
    else:
        report_button.offer(findings, compared, pooling)


def _table(rows: Rows, stem: str) -> None:
    """All common cells; nothing if there are none."""
    if rows:
        downloads.table(rows, lines=8)
        downloads.rows(rows, stem, "Table (CSV)")
