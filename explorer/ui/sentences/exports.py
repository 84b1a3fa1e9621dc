"""Files of the sentences: their cosines under the chosen and under every layer & pooling, and their vectors."""

import streamlit as st

from explorer.measuring.sentences import layer_cosines, sentence_vectors
from explorer.ui.sentences.matrices import Seen
from explorer.ui.widgets import downloads


def show(found: Seen) -> None:
    """Buttons that download them."""
    names = " ".join(side.found.name for side in found.sides)
    rows = sentence_vectors.similarity_rows(found.sentences, found.one, found.other)
    by_name = {side.name: of for side, of in zip(found.sides, found.layers, strict=True)}
    with st.container(horizontal=True):
        downloads.rows(rows, f"similarities {names}", "Similarities (CSV)")
        downloads.rows(lambda: layer_cosines.rows(by_name), f"layers {names}", "Every layer & pooling (CSV)")
    for side in found.sides:
        vectors = side.vectors(found.sentences)
        if vectors is not None:  # else progress is shown
            downloads.of_vectors(side.name, side.found.name, found.sentences, vectors)
