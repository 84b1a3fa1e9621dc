"""Map: two projections of the same sentences, for A and B."""

import streamlit as st

from explorer.errors import StrataError
from explorer.ui import messages
from explorer.ui.access import side_readers, sidebar_choice
from explorer.ui.frame import page_frame, second_encoder
from explorer.ui.map import large_map_view, map_data, map_view, projection_form, sentence_source

page_frame.enter()
choice, other = sidebar_choice.chosen(), second_encoder.beside()
reading = side_readers.readers(choice, other)
if not reading:
    st.stop()
above = st.container()
try:
    settings = projection_form.settings()
    with above:
        sentences = sentence_source.asked_for(choice, settings.seed)
    if sentences is None:
        st.stop()
    if isinstance(sentences, sentence_source.VectorSource):
        large_map_view.show(sentences.path, reading[0], settings, len(reading) > 1)
        st.stop()
    seen = map_data.mapped(sentences, reading, settings)
except StrataError as error:
    messages.trouble(error)
    st.stop()
if seen is None:
    st.stop()
st.markdown(f"{len(sentences):,} sentences of {messages.plain(sentences.name)}. {messages.plain(sentences.note)}")
map_view.show(seen, settings)
st.caption(seen.maps.note)
map_view.take_along(seen)
