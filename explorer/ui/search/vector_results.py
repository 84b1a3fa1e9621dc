"""Search vectors on disk on the page: the index, the query's encoder, the results, and what the index misses."""

import time

import numpy as np
import streamlit as st
from numpy.typing import NDArray
from streamlit.delta_generator import DeltaGenerator

from explorer.data.vectors.vector_corpus import VectorCorpus
from explorer.encoding.load import declared
from explorer.errors import StrataError
from explorer.measuring.neighbours import query_results, vector_index, vector_search
from explorer.ui import messages
from explorer.ui.access import sidebar_choice, vector_corpora
from explorer.ui.search import query_view
from explorer.ui.widgets import downloads, segments

AUTOMATIC = "automatic"
INDEXES = {AUTOMATIC: None, "exact": vector_index.FLAT, "IVF": vector_index.IVF, "HNSW": vector_index.HNSW}
OTHER_MODEL = (
    "{} was made by **{}**, whose weights differ from those of model A. Choose that model as A, or search for a "
    "sentence of the corpus."
)


def show(source: str, choice: sidebar_choice.Choice, box: DeltaGenerator, k: int) -> None:
    """The index to choose and the query in `box`, then the results; until all is ready progress or the error."""
    kind = INDEXES[
        segments.chosen(
            "Index",
            list(INDEXES),
            default=AUTOMATIC,
            key="index",
            help="Exact compares every vector. IVF searches the nearest of many lists, HNSW follows the links of a "
            "graph; both are built once and miss some neighbours, which is measured. Automatic: exact up to 200,000 "
            "vectors, IVF beyond.",
        )
    ]
    corpus = _corpus(source, choice)
    query = query_view.query(box, corpus.text(0) if corpus else None)
    if corpus is not None and query is not None:
        with query_view.results_area(query):
            try:
                _show(corpus, choice, query, k, kind)
            except StrataError as error:
                messages.trouble(error)
    if sidebar_choice.model_b():
        st.caption(vector_corpora.ONE_ENCODER)


def _corpus(source: str, choice: sidebar_choice.Choice) -> VectorCorpus | None:
    """The vectors; None, with progress or the error shown, until they are checked."""
    try:
        found = sidebar_choice.encoder(choice.source)
        corpus = vector_corpora.corpus(source, choice.reading_of(found.folder).title) if found else None
    except StrataError as error:
        messages.trouble(error)
        return None
    if corpus is not None:
        st.caption(messages.plain(corpus.note))
    return corpus


def _show(corpus: VectorCorpus, choice: sidebar_choice.Choice, query: str, k: int, kind: str | None) -> None:
    search = vector_corpora.searchable(corpus, kind)
    if search is None:
        return
    place = corpus.place_of(query)
    if place is not None:
        st.caption(query_view.LEFT_OUT)
    answered = _answered(search, choice, query, place, k)
    if answered is None:
        return
    hits, seconds = answered
    st.caption(query_results.index_text(search.facts))
    st.caption(query_results.cost_text(search.facts, corpus.vectors.nbytes, seconds))
    found_rows = query_results.hit_rows(search, hits)
    for row in found_rows:
        sentence, rank = str(row["sentence"]), int(str(row["rank"]))
        query_view.item(f"vector {row['row']}", rank, sentence, f":small[cosine {row['cosine']:.3f}]")
    downloads.rows(found_rows, messages.shortened(query, 40), "Results (CSV)")


def _answered(
    search: vector_search.VectorSearch, choice: sidebar_choice.Choice, query: str, place: int | None, k: int
) -> tuple[vector_index.Hits, float] | None:
    """The results and the seconds of the search; None while the encoder of the query is being loaded."""
    searched = _encoded(search.corpus, choice, query) if place is None else place
    if searched is None:
        return None
    started = time.perf_counter()
    hits = search.found(searched, k)
    return hits, time.perf_counter() - started


def _encoded(corpus: VectorCorpus, choice: sidebar_choice.Choice, query: str) -> NDArray[np.float32] | None:
    """The vector of the query under model A, with the layer & pooling of the vectors."""
    found = sidebar_choice.encoder(choice.source)
    if found is None or _is_other(corpus, found.digest):
        return None
    encoder = sidebar_choice.loaded(found, choice.settings)
    if encoder is None:
        return None
    reading = declared.named(corpus.title, found.folder) if corpus.origin else choice.reading_of(found.folder)
    longest = choice.settings.max_length or (corpus.origin.max_length if corpus.origin else None)
    st.markdown(f"**A** {messages.plain(found.name)}, {messages.plain(declared.described(reading, found.folder))}")
    return query_results.vector_of(encoder, query, reading, longest)


def _is_other(corpus: VectorCorpus, digest: str) -> bool:
    """Whether another model made the vectors; then a warning says so."""
    if corpus.origin is None or corpus.origin.model_digest == digest:
        return False
    warning = OTHER_MODEL.format(messages.plain(corpus.name), messages.plain(corpus.origin.model))
    st.warning(warning, icon=":material/sync_problem:")
    return True
