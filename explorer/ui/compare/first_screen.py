"""Show the verdict and what supports it; in presentation mode on one screen, with the probe bars and one grid."""

from __future__ import annotations

import streamlit as st

from explorer.measuring.comparing.learned import ProbeChanges
from explorer.ui.compare import grids_view, probe_changes, verdict_view
from explorer.ui.compare.compared import Compared
from explorer.ui.widgets import picture_format

BARS, GRID = 244, 440  # pixels, of the bars and of a grid of few layers: all fits on a screen of 1280 x 720
_LOOK = """<style>
.st-key-one-screen { margin-top: -0.6rem; }
.st-key-one-screen p { font-size: 18px; line-height: 1.4; }
.st-key-one-screen [data-testid="stAlertContainer"] { padding: 0.4rem 0.7rem; }
.st-key-one-screen [data-testid="stAlertContainer"] p { font-size: 21px; }
.st-key-one-screen [data-testid="stColumn"] [data-testid="stColumn"] * > [data-testid="stVerticalBlock"] {
  padding: 0.3rem 0.6rem;
}
.st-key-one-screen [data-testid="stBaseButton-tertiary"] { min-height: 0; padding: 0; }
</style>"""


def show(compared: Compared, changes: ProbeChanges | None) -> str:
    """The verdict, its pairs and the scores. Gives the name of the grid that is drawn here, if one is."""
    drawn = ""
    if changes is not None and picture_format.presenting():
        drawn = _on_one_screen(compared, changes)
    elif changes is not None:
        verdict_view.news(compared, changes)
        verdict_view.where(compared)
        verdict_view.pairs(compared, changes)
    verdict_view.cards(compared)
    return drawn


def _on_one_screen(compared: Compared, changes: ProbeChanges) -> str:
    """The verdict, the pairs and the bars on the left; the grid and what it shows on the right."""
    st.html(_LOOK)
    with st.container(key="one screen"):
        left, right = st.columns((7, 3), gap="small")
        with left.container(gap="xsmall"):
            verdict_view.news(compared, changes)
            verdict_view.pairs(compared, changes)
            if changes.packs:
                probe_changes.bars(compared, changes, BARS)
        with right.container(gap="xsmall"):
            drawn = grids_view.one(compared, GRID)
            verdict_view.where(compared)
    return drawn
