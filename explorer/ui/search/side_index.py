"""Encode the corpus and the query with a side of the sidebar, in the background, with progress shown."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from explorer.data.kinds import Sentences
from explorer.errors import StrataError
from explorer.measuring.neighbours.query_results import SearchSide, place_of, vector_of
from explorer.measuring.neighbours.vector_index import Index, indexed
from explorer.ui import messages
from explorer.ui.access import encoder_loading, job_results
from explorer.ui.access.side_readers import Reader

CUT = "The query is too long: only its first {:,} tokens were encoded."


@dataclass(frozen=True, eq=False)
class EncodedQuery:
    """The corpus and the query, encoded by one side."""

    side: SearchSide
    key: str  # identifies encoder, layer & pooling, settings and corpus; not the query


def read(reader: Reader, searched: Sentences, query: str) -> EncodedQuery | None:
    """Both, once they are encoded; until then progress or the error, below the side's title."""
    st.markdown(reader.title)
    try:
        corpus = reader.vectors(searched.texts)
        if corpus is None:
            return None
        key = f"{reader.key} {searched.digest}"
        index: Index | None = job_results.made(f"index {key}", f"Index of {searched.name}", lambda: indexed(corpus))
        side = None if index is None else _side(reader, searched, index, query)
    except StrataError as error:
        messages.trouble(error)
        return None
    return None if side is None else EncodedQuery(side, key)


def _side(reader: Reader, searched: Sentences, index: Index, query: str) -> SearchSide | None:
    """The query with the corpus; a query that is a sentence of the corpus uses that sentence's vector."""
    place = place_of(query, searched.texts)
    if place is not None:
        return SearchSide(index, place)
    encoder = encoder_loading.encoder(reader.found, reader.settings)
    if encoder is None:
        return None
    most = reader.settings.max_length
    if encoder.tokens([query], most).truncated:
        st.warning(CUT.format(encoder.limit(most)), icon=":material/content_cut:")
    return SearchSide(index, vector_of(encoder, query, reader.reading, most))
