"""Sentences: similarity matrices of the visitor's sentences in every layer, one pair of them, and probe packs."""

import streamlit as st

from explorer.ui.access import sidebar_choice
from explorer.ui.frame import page_frame
from explorer.ui.sentences import layers_tab, matrices, own_sentences, pair_tab, probe_view
from explorer.ui.widgets import cosine_meaning, first_screen

LAYERS, PAIR, PACKS, EXPORT = "Layers", "Pair", "Probe packs", "Export"

page_frame.enter()
sides = sidebar_choice.readers(sidebar_choice.chosen(), sidebar_choice.model_b())
if not sides:
    st.stop()
answer = first_screen.answer()
with first_screen.controls_row():
    sentences = own_sentences.panel()
    with first_screen.settings():
        order = matrices.order_menu(sides)
        cosine_meaning.switch()
if len(sentences) < 2:
    answer.info(own_sentences.TYPE_TWO, icon=":material/edit:")
    st.stop()
place, later = st.container(), st.container()
with place:
    found = matrices.seen(sides, sentences, later)
if found is None:
    st.stop()
with answer:
    matrices.answer(found)
with place:
    matrices.draw(found, matrices.order(found, order))
if len(found.sides) < len(sides):  # B is still being encoded
    st.stop()
tab = first_screen.tabs((LAYERS, PAIR, PACKS, EXPORT))
cosine_meaning.find_for(sides)
if tab == LAYERS:
    layers_tab.show(found)
elif tab == PAIR:
    pair_tab.show(found)
elif tab == PACKS:
    probe_view.show(sides)
else:
    matrices.export(found)
