"""Write the sentence that answers what changed between two frames of a map, or which sentences are closest."""

import streamlit as st

from explorer import in_words
from explorer.data.text_sets import Sentences
from explorer.measuring.maps.frames import MOST_MOVED, Frames
from explorer.measuring.neighbours.vector_index import Neighbourhoods
from explorer.ui import messages

HOW = (
    "Measured on the full vectors, not on the map. A sentence keeps most of its nearest if more than half of its "
    "nearest by cosine in {0} are among its nearest in {1}. {2} The lines on the map join where the {3} sentences that "
    "moved most are in {0} and in {1}."
)
BY_SHIFT = "How far a sentence moved, in brackets, is 1 minus the cosine of its vectors in {} and {}."
BY_NEIGHBOURS = "How far a sentence moved is how few neighbours it keeps: the vectors of {} and {} cannot be compared."
ON_VECTORS = "Measured on the full vectors, not on the map."


def changed(described: Sentences, compared: Frames, first: str, last: str) -> None:
    """How many sentences keep most of their neighbours, and which moved most."""
    texts = described.texts
    moved = []
    kept = compared.kept()
    for at in compared.most_moved(most=2):
        keeps = f"keeps {kept[at]} of {compared.nearest}"
        shift = keeps if compared.moved is None else in_words.number(float(compared.moved[-1, at]))
        moved.append(f"{quoted(texts[at])} ({shift})")
    by = BY_NEIGHBOURS if compared.moved is None else BY_SHIFT
    st.markdown(
        f"From {first} to {last}, **{compared.keep_most():,} of {len(texts):,}** sentences keep most of their "
        f"{compared.nearest} nearest; most moved: {' and '.join(moved)}.",
        help=HOW.format(first, last, by.format(first, last), min(MOST_MOVED, len(texts))),
    )


def closest(described: Sentences, near: Neighbourhoods) -> None:
    """The two sentences with the highest cosine."""
    texts = described.texts
    first = int(near.distances[:, 0].argmin())
    pair = [quoted(texts[at]) for at in (first, int(near.places[first, 0]))]
    st.markdown(
        f"Of {len(texts):,} sentences the closest are {' and '.join(pair)}: **cosine "
        f"{in_words.cosine(1 - float(near.distances[first, 0]))}**.",
        help=ON_VECTORS,
    )


def quoted(text: str) -> str:
    """A sentence in a sentence."""
    return f"“{messages.plain(messages.shortened(text, 60))}”"
