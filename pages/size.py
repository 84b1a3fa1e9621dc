"""Size: what an encoder loses and gains with fewer layers, fewer dimensions and fewer bits."""

import streamlit as st

from explorer.ui.access import sidebar_choice
from explorer.ui.frame import page_frame
from explorer.ui.size import distilling, serving, size_export, size_view
from explorer.ui.widgets import first_screen

page_frame.enter()
choice = sidebar_choice.chosen()
found = sidebar_choice.encoder(choice.source)
if found is None:
    st.stop()
row, answer = first_screen.controls_row(), first_screen.answer()
request = size_view.request(choice, found, row)
if request is None:
    st.stop()
with answer:
    before = st.container()  # what is known before the sizes are measured
    start = st.container(horizontal=True, vertical_alignment="center")
    picture = size_view.picture(request, start)
if picture is None:
    with first_screen.figure():
        size_view.by_layer(choice, request, before)
else:
    with answer:
        size_view.headline(picture)
    with row:
        cost = size_view.chosen_cost()
    with first_screen.figure():
        size_view.show(picture, cost)
shown = first_screen.tabs([size_view.TABLE, size_export.TAB, serving.TAB])
if shown == serving.TAB:
    serving.show(found, choice.settings)
elif picture is None:
    st.caption("Nothing is measured yet: press *Measure sizes*.")
elif shown == size_view.TABLE:
    distilling.suggest(picture, size_view.text_source(), choice.source)
    size_view.table(picture)
else:
    size_export.show(request, picture)
if picture is None:
    with start:
        size_view.how_long(request)
