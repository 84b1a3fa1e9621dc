"""Size: what an encoder loses and gains with fewer layers, fewer dimensions and fewer bits."""

import streamlit as st

from explorer.errors import StrataError
from explorer.ui import messages
from explorer.ui.access import sidebar_choice
from explorer.ui.frame import page_frame
from explorer.ui.size import picture_view, size_form

page_frame.enter()
choice = sidebar_choice.chosen()
found = sidebar_choice.encoder(choice.source)
if found is None:
    st.stop()
try:
    request = size_form.request(choice, found)
except StrataError as error:
    messages.trouble(error)
    st.stop()
if request is None:
    st.stop()
first = st.container()  # the verdict, above what it is made of
picture = size_form.picture(request)
if picture is None:
    st.stop()
with first:
    picture_view.headline(picture)
picture_view.show(picture)
picture_view.export(request, picture)
