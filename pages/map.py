"""Where do sentences lie in A and in B, and which moved?"""

import streamlit as st

from explorer.errors import StrataError
from explorer.ui import controls, frame, map_form, map_text, map_view, mapped, notices, reach, sides

frame.enter()
choice, other = controls.chosen(), sides.beside()
st.title("Map")
found = reach.encoder(choice.source)
if found is None:
    st.stop()
beside = reach.encoder(other.source) if other is not None else None
above = st.container()
try:
    way = map_form.way()
    with above:
        sentences = map_text.asked_for(choice, way.seed)
    if sentences is None:
        st.stop()
    both = (mapped.side(found, choice), *([mapped.side(beside, other)] if beside and other else []))
    seen = mapped.mapped(sentences, both, choice, way)
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
