"""Where do sentences lie in A and in B, and which moved?"""

import streamlit as st

from explorer.errors import StrataError
from explorer.ui import controls, frame, map_form, map_text, map_view, mapped, notices, readers, sides

frame.enter()
choice, other = controls.chosen(), sides.beside()
st.title("Map")
reading = readers.readers(choice, other)
if not reading:
    st.stop()
above = st.container()
try:
    way = map_form.way()
    with above:
        sentences = map_text.asked_for(choice, way.seed)
    if sentences is None:
        st.stop()
    seen = mapped.mapped(sentences, reading, way)
except StrataError as error:
    notices.trouble(error)
    st.stop()
if seen is None:
    st.stop()
st.markdown(f"{len(sentences):,} sentences of {notices.plain(sentences.name)}. {notices.plain(sentences.note)}")
map_view.show(seen, way)
for told in seen.maps.told:
    st.caption(told)
map_view.take_along(seen)
