"""Map: one map of the same sentences that moves from A to B, or through the layers of a model."""

from pathlib import Path

import streamlit as st

from explorer.ui.access import sidebar_choice
from explorer.ui.frame import page_frame
from explorer.ui.map import map_form, map_view, vectors_view
from explorer.ui.widgets import first_screen

page_frame.enter()
choice = sidebar_choice.chosen()
sides = sidebar_choice.readers(choice, sidebar_choice.model_b())
if not sides:
    st.stop()
answer = first_screen.answer()
with first_screen.controls_row():
    row, last = (
        st.container(horizontal=True, vertical_alignment="bottom", gap="small", width="content") for _ in range(2)
    )
sentences = map_form.sentences(row, choice)
if isinstance(sentences, Path):
    settings = map_form.map_settings(row, last, map_form.MOVE, None)
    vectors_view.show(answer, str(sentences), sides[0], settings, has_model_b=len(sides) > 1)
elif sentences is not None:
    view = map_form.view(row, len(sides))
    settings = map_form.map_settings(row, last, view, len(sentences))
    map_view.show(answer, row, sentences, sides, view, settings)
