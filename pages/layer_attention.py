"""Which layers does a model listen to, sentence by sentence?"""

import streamlit as st

from explorer.errors import StrataError
from explorer.ui import controls, frame, heads_view, listening_view, notices, opening, pair_view, reach, two_sentences

frame.enter()
choice = controls.chosen()
st.title("Layer attention")
found = reach.encoder(choice.source)
sentences = two_sentences.asked_for()
if found is None or sentences is None:
    st.stop()
reader = opening.encoder(found, choice.settings)
if reader is None:
    st.stop()
try:
    if reader.head is not None and reader.head.attention is not None:
        listening_view.show(found, sentences, choice)
        heads_view.folded(found, sentences)
    else:
        pair_view.show(found, sentences, choice)
        st.subheader(heads_view.TITLE)
        heads_view.show(found, sentences)
except StrataError as error:
    notices.trouble(error)
