"""Size: what an encoder loses and gains with fewer layers, fewer dimensions and fewer bits."""

import streamlit as st

from explorer.ui import size
from explorer.ui.access import sidebar_choice
from explorer.ui.frame import page_frame

page_frame.enter()
choice = sidebar_choice.chosen()
found = sidebar_choice.encoder(choice.source)
if found is None:
    st.stop()
request = size.request(choice, found)
if request is None:
    st.stop()
first = st.container()  # the verdict, above what it is made of
picture = size.picture(request)
if picture is None:
    st.stop()
with first:
    size.headline(picture)
size.show(picture)
size.export(request, picture)
