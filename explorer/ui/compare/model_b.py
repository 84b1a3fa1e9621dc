"""Choose what is compared: model B, and the layers & poolings of both."""

from __future__ import annotations

import streamlit as st

from explorer.encoding.load import declared
from explorer.encoding.read.readings import MODEL_DEFAULT
from explorer.ui import messages
from explorer.ui.access import side_scores, sidebar_choice
from explorer.ui.access.sidebar_choice import Choice
from explorer.ui.compare import geometry_view, grids_view
from explorer.ui.compare.compared import Compared
from explorer.ui.frame import second_encoder, sidebar

ASK = f"Choose model B in the sidebar under **{sidebar_choice.MODEL_B}**, or here."
EACH, SAME, CHOSEN = "Each model's default", "Same layer & pooling for both", "As chosen in the sidebar"
KEY = "compared view"


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


def view_control(compared: Compared) -> None:
    """The switch; it sets the layers & poolings of the sidebar, which are kept in the address."""
    folders = [one.found.folder for one in compared.sides]
    cell = declared.default_cell(folders[0])
    both_have_it = sidebar_choice.exists(cell.title, folders[1])
    titles = [choice.reading or MODEL_DEFAULT for choice in compared.choices]
    now = EACH if set(titles) == {MODEL_DEFAULT} else SAME if len(set(titles)) == 1 else CHOSEN
    options = [EACH, *[SAME] * (both_have_it or now == SAME), *[CHOSEN] * (now == CHOSEN)]
    st.session_state[KEY] = now
    st.segmented_control(
        "Layer & pooling",
        options,
        key=KEY,
        required=True,
        on_change=_take,
        args=(cell.title,),
        help=f"**{EACH}**: A and B each under model default. **{SAME}**: both under {cell.title}, so that only the "
        "weights differ.",
    )


def _take(title: str) -> None:
    if st.session_state[KEY] == EACH:
        second_encoder.choose_each_default()
    elif st.session_state[KEY] == SAME:
        second_encoder.choose_same(title)
