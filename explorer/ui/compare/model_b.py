"""Show buttons to choose model B, and the geometry of A, while no model B is chosen."""

from __future__ import annotations

import streamlit as st

from explorer.ui import messages
from explorer.ui.access import side_scores, sidebar_choice
from explorer.ui.access.sidebar_choice import Choice
from explorer.ui.compare import geometry_view, grids_view
from explorer.ui.frame import second_encoder, sidebar

ASK = f"Choose model B in the sidebar under **{sidebar_choice.MODEL_B}**, or here."


def ask() -> None:
    """A button for each model on this disk."""
    st.info(ASK, icon=":material/compare:")
    for name in [one for one in sidebar.encoders() if one != sidebar_choice.chosen().source][:6]:
        st.button(
            f"Compare with {messages.plain(name)}", key=f"beside {name}", on_click=second_encoder.choose, args=(name,)
        )
    st.page_link("pages/train.py", label="Train a model", icon=":material/model_training:")


def alone(choice: Choice) -> None:
    """The embedding geometry of A, which needs no B."""
    if not geometry_view.asked(1):
        return
    shown = side_scores.shown(choice)
    if shown is not None:
        geometry = geometry_view.found((shown,), grids_view.pooling_control(shown.scores), choice.settings)
        if geometry is not None:
            geometry_view.show(geometry, None, shown.found.name)
