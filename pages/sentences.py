"""Sentences: similarity matrices of typed sentences, and probe packs."""

import streamlit as st

from explorer.errors import StrataError
from explorer.measuring.sentences.cosine_matrix import similarity_rows
from explorer.ui import messages
from explorer.ui.access import side_readers, sidebar_choice
from explorer.ui.frame import page_frame, second_encoder
from explorer.ui.microscope import microscope
from explorer.ui.sentences import probe_view, sentence_box, similarity_view
from explorer.ui.widgets import downloads

YOURS, PACKS = "Your sentences", "Probe packs"


def your_sentences(reading: tuple[side_readers.Reader, ...]) -> None:
    """Squares of cosines, the microscope for a pair, and files."""
    sentences = sentence_box.asked_for()
    if len(sentences) < 2:
        st.info(sentence_box.TYPE_TWO, icon=":material/edit:")
        return
    made = [side.vectors(sentences) for side in reading]
    vectors = tuple(one for one in made if one is not None)
    if len(vectors) < len(reading):
        return  # what is under way is shown
    one, other = similarity_view.matrices(vectors)
    pair = similarity_view.show(reading, sentences, one, other)
    st.subheader(microscope.TITLE)
    if pair is not None:
        microscope.of_sides(reading, sentences[pair[0]], sentences[pair[1]])
    st.subheader("Export")
    names = " ".join(side.found.name for side in reading)
    downloads.rows(similarity_rows(sentences, one, other), f"similarities {names}", "Similarities (CSV)")
    for side, of_side in zip(reading, vectors, strict=True):
        downloads.of_vectors(side.name, side.found.name, sentences, of_side)


page_frame.enter()
reading = side_readers.readers(sidebar_choice.chosen(), second_encoder.beside())
if not reading:
    st.stop()
if len(reading) < 2:
    side_readers.ask_for_b()
looked_at = st.segmented_control(
    "Look at",
    [YOURS, PACKS],
    default=YOURS,
    required=True,
    key="look",
    bind="query-params",
    label_visibility="collapsed",
)
try:
    if looked_at == YOURS:
        your_sentences(reading)
    else:
        probe_view.show(reading)
except StrataError as error:
    messages.trouble(error)
