"""Choose between each model's default and one layer & pooling for both."""

from __future__ import annotations

import streamlit as st

from explorer.encoding.load import declared
from explorer.encoding.read.readings import MODEL_DEFAULT
from explorer.ui.access import sidebar_choice
from explorer.ui.compare.compared import Compared
from explorer.ui.frame import second_encoder

EACH, SAME, CHOSEN = "Each model's default", "Same layer & pooling for both", "As chosen in the sidebar"
KEY = "compared view"


def control(compared: Compared) -> None:
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
