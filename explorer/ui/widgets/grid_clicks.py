"""The cell that was clicked in a grid of layers & poolings."""

from __future__ import annotations

import streamlit as st

from explorer.encoding.read.readings import OWN, Reading
from explorer.measuring.scores.layer_scores import LayerScores


def clicked(key: str, scores: LayerScores) -> Reading | None:
    """The layer & pooling of the clicked cell, for the callback of the figure `key`; None if the click cleared it."""
    points = st.session_state[key]["selection"]["points"]
    return (*scores.grid, OWN)[int(points[0]["customdata"])] if points else None
