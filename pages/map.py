"""Map: two projections of the same sentences, for A and B."""

from pathlib import Path

import streamlit as st

from explorer.ui import messages
from explorer.ui.access import sidebar_choice
from explorer.ui.frame import page_frame
from explorer.ui.map import map_form, map_view

page_frame.enter()
choice = sidebar_choice.chosen()
sides = sidebar_choice.readers(choice, sidebar_choice.model_b())
if not sides:
    st.stop()
above = st.container()
settings = map_form.map_settings()
with above:
    sentences = map_form.sentences(choice, settings.seed)
if sentences is None:
    st.stop()
if isinstance(sentences, Path):
    map_view.show_vectors(str(sentences), sides[0], settings, has_model_b=len(sides) > 1)
    st.stop()
mapped = map_view.mapped(sentences, sides, settings)
if mapped is None:
    st.stop()
st.markdown(f"{len(sentences):,} sentences of {messages.plain(sentences.name)}. {messages.plain(sentences.note)}")
map_view.show(mapped, settings)
st.caption(mapped.maps.note)
map_view.export(mapped)
