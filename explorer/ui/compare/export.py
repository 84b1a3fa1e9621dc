"""Export a comparison: the table of all cells, and one HTML report, made on request."""

from dataclasses import replace
from itertools import chain

import streamlit as st

from explorer.data.text_sets import digest_of
from explorer.drawing.reports.report import report
from explorer.measuring.comparing.learned import NOTHING, Learned
from explorer.measuring.geometry.layer_geometry import LayerGeometry
from explorer.measuring.scores.best_cell import DevPick
from explorer.measuring.sentences.word_pairs import ExplainedPairs, of_pairs
from explorer.ui.access import cached, jobs
from explorer.ui.compare import geometry_view
from explorer.ui.compare.compared import Compared
from explorer.ui.widgets import downloads

_ASKED = "report asked for"
FILE = "Report (HTML)"


def show(
    compared: Compared,
    probes: Learned | None,
    pick: DevPick | None,
    pooling: str,
    asked: bool,
    geometry: LayerGeometry | None,
) -> None:
    """The table as a file, and the report once its geometry is computed."""
    st.subheader("Export")
    rows = compared.cells()
    if rows:
        downloads.table(rows, lines=8)
        downloads.rows(rows, compared.stem, "Table (CSV)")
    if compared.sides[0].graded is None:
        st.caption("The HTML report is made for scored pairs: choose such a set in the sidebar.")
        return
    if asked and geometry is None:
        st.caption("The report can be downloaded once the geometry above has been computed.")
        return
    compared = replace(compared, picked=pick, probes=probes or NOTHING)
    # the report needs the geometry and the words of pairs: first a button that computes them, then one that downloads
    sides, settings = compared.sides, compared.choices[0].settings
    readings = compared.about.one_reading, compared.about.other_reading
    weighed = dict(zip("AB", zip(compared.found, readings, strict=True), strict=True))
    pairs = [(one.first, one.second) for one in compared.probes.pairs]
    models = [(found.digest, reading.title) for found, reading in weighed.values()]
    key = f"words of the report {models} {digest_of(chain(*pairs))} {settings.max_length}"
    what = f"{[(side.measured, side.reading.title) for side in sides]} {pooling}"
    there = geometry_view.is_there(sides, pooling, settings) and (not pairs or jobs.known(key) is not None)
    if not there and st.session_state.get(_ASKED) != what:
        st.button(
            "Create report (HTML)",
            key="create report",
            icon=":material/description:",
            on_click=lambda: st.session_state.update({_ASKED: what}),
            help="Encodes the sentences with A and B to compute the geometry, and weighs the words of the pairs that "
            "show what was learned; then the report can be downloaded.",
        )
        return
    geometry = geometry_view.found(sides, pooling, settings)
    if geometry is None:
        return
    words: ExplainedPairs | None = jobs.result(
        key,
        "Weighing the words of the report's pairs",
        lambda: of_pairs(weighed, pairs, cached.attending, settings.max_length),
    )
    if words is None:
        return
    whole, explained = replace(compared, geometry=geometry), words
    st.download_button(
        FILE,
        lambda: report(whole, pooling, explained),
        f"{downloads.file_name(f'{sides[0].found.name} {sides[1].found.name} {sides[0].pairs.name}')}.html",
        "text/html",
        icon=":material/description:",
        on_click="ignore",
        help="One self-contained file: figures, tables, improved and worsened pairs, and measurement settings.",
    )
