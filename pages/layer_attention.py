"""Layer attention: weights of a pooler over layers, or a pair's cosine by layer, and self-attention."""

import streamlit as st

from explorer.ui.access import sidebar_choice
from explorer.ui.frame import page_frame
from explorer.ui.layer_attention import pair_view, pooler_view

page_frame.enter()
choice = sidebar_choice.chosen()
found = sidebar_choice.encoder(choice.source)
sentences = pair_view.sentences()
if found is None or sentences is None:
    st.stop()
encoder = sidebar_choice.loaded(found, choice.settings)
if encoder is None:
    st.stop()
if encoder.head is not None and encoder.head.attention is not None:
    pooler_view.show(found, sentences, choice)
    pair_view.folded_heads(found, sentences)
else:
    pair_view.show(found, sentences, choice)
    st.subheader(pair_view.HEADS_TITLE)
    pair_view.show_heads(found, sentences)
