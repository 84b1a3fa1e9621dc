"""Export a comparison: the table of all cells, and the report."""

from __future__ import annotations

import streamlit as st

from explorer.measuring.comparing.comparison_report import Findings
from explorer.measuring.comparing.dev_picking import Pick
from explorer.measuring.comparing.learned import NOTHING, ProbeChanges
from explorer.measuring.geometry.layer_geometry import LayerGeometry
from explorer.ui.compare import report_button
from explorer.ui.compare.compared import Compared
from explorer.ui.widgets import downloads


def show(
    compared: Compared,
    probes: ProbeChanges | None,
    pick: Pick | None,
    pooling: str,
    asked: bool,
    geometry: LayerGeometry | None,
) -> None:
    """The table as a file, and the report once its geometry is computed."""
    st.subheader("Export")
    one, other = compared.sides
    findings = Findings(
        (one.found, other.found),
        one.pairs,
        compared.comparison,
        compared.differences,
        *compared.ways,
        seed=0,
        picked=pick,
        of_models=compared.verdict,
        probes=probes or NOTHING,
    )
    rows = findings.cells()
    if rows:
        downloads.table(rows, lines=8)
        downloads.rows(rows, compared.stem, "Table (CSV)")
    if asked and geometry is None:
        st.caption("The report can be downloaded once the geometry above has been computed.")
    else:
        report_button.offer(findings, compared.sides, pooling, compared.choices[0].settings)
