"""Has a side of the sidebar read the corpus and the query? In the background, with its progress shown."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from explorer.data.searched import Searched
from explorer.encoding import layout
from explorer.encoding.finding import Found
from explorer.encoding.readings import Reading
from explorer.errors import StrataError
from explorer.measuring.retrieval import Index, indexed
from explorer.measuring.searching import Side, place_of, vector_of
from explorer.ui import notices, opening, reach, vectors
from explorer.ui.controls import Choice


@dataclass(frozen=True, eq=False)
class Reader:
    """An encoder with the reading that stands for a sentence, and the corpus as it reads it."""

    found: Found
    reading: Reading
    side: Side
    key: str  # stands for encoder, reading, settings and corpus; not for the query


def read(name: str, choice: Choice, searched: Searched, query: str) -> Reader | None:
    """A side that has read all of it; until then what is in the way, under its name."""
    found = reach.encoder(choice.source)
    if found is None:
        return None
    try:
        reading = choice.reading_of(layout.last_layer(found.folder))
        st.markdown(f"**{name}** {notices.plain(found.name)} · {notices.plain(reading.title)}")
        corpus = vectors.of_reading(found, searched.sentences, reading, choice.settings)
        if corpus is None:
            return None
        key = f"{found.digest} {searched.digest} {reading.title} {choice.settings}"
        index: Index | None = vectors.made(f"index {key}", f"Index of {searched.name}", lambda: indexed(corpus))
        side = None if index is None else _asked(found, choice, searched, index, reading, query)
    except StrataError as error:
        notices.trouble(error)
        return None
    return None if side is None else Reader(found, reading, side, key)


def _asked(found: Found, choice: Choice, searched: Searched, index: Index, reading: Reading, query: str) -> Side | None:
    """The query beside the corpus; where it is one of its sentences, its vector is there already."""
    place = place_of(query, searched.sentences)
    if place is not None:
        return Side(index, place)
    encoder = opening.encoder(found, choice.settings)
    if encoder is None:
        return None
    most = choice.settings.max_length
    if encoder.tokens([query], most).truncated:
        st.warning(
            f"Only the first {encoder.limit(most):,} tokens of the query were read.", icon=":material/content_cut:"
        )
    return Side(index, vector_of(encoder, query, reading, most))
