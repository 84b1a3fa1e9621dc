"""Sentences: similarity matrices of typed sentences, and probe packs."""

import streamlit as st

from explorer.ui.access import sidebar_choice
from explorer.ui.frame import page_frame
from explorer.ui.sentences import own_sentences, probe_view
from explorer.ui.widgets import cosine_meaning

YOURS, PACKS = "Your sentences", "Probe packs"

page_frame.enter()
sides = sidebar_choice.readers(sidebar_choice.chosen(), sidebar_choice.model_b())
if not sides:
    st.stop()
if len(sides) < 2:
    sidebar_choice.ask_for_b()
with st.container(horizontal=True, vertical_alignment="center"):
    shown = st.segmented_control(
        "Look at",
        [YOURS, PACKS],
        default=YOURS,
        required=True,
        key="look",
        bind="query-params",
        label_visibility="collapsed",
    )
    cosine_meaning.switch()
cosine_meaning.find_for(sides)
if shown == YOURS:
    own_sentences.show(sides)
else:
    probe_view.show(sides)
