"""Map vectors on disk: a canvas of up to 200,000 points, PCA until UMAP is ready, and neighbours of a clicked point."""

from typing import Any

import streamlit as st

from explorer.data.vectors.vector_corpus import VectorCorpus
from explorer.drawing.sentences import sentence_maps
from explorer.errors import StrataError
from explorer.measuring.maps import large_map, projection
from explorer.measuring.neighbours import query_results, vector_index
from explorer.ui import messages
from explorer.ui.access import jobs, vector_corpora
from explorer.ui.access.sidebar_choice import Reader
from explorer.ui.map.map_view import QUALITY
from explorer.ui.widgets import downloads

UNTIL_READY = "This is PCA, until UMAP is ready."
NOT_POSSIBLE = "Vectors on disk are mapped by UMAP or PCA, in two dimensions. This is {} in two dimensions."
PICKED = "_map_picked_row"


def show(path: str, reader: Reader, settings: projection.MapSettings, *, has_model_b: bool) -> None:
    """The map of the vectors under A's layer & pooling, or of the only ones that are there."""
    if has_model_b:
        st.caption(vector_corpora.ONE_ENCODER)
    corpus = vector_corpora.corpus(path, reader.reading.title)
    if corpus is None:
        return
    st.markdown(messages.plain(corpus.note))
    kind = settings.kind if settings.kind in large_map.KINDS else "UMAP"
    at_once = projection.MapSettings("PCA", seed=settings.seed)
    used = (
        at_once
        if kind == "PCA"
        else projection.MapSettings(kind, 2, settings.neighbours, settings.min_dist, seed=settings.seed)
    )
    if (kind, 2) != (settings.kind, settings.axes):
        st.caption(NOT_POSSIBLE.format(kind))
    first = _large_map(corpus, at_once)
    if first is None:
        return
    found = _large_map(corpus, used)
    if found is None:
        st.caption(UNTIL_READY)
        used, found = at_once, first
    _draw(corpus, used, found)


def _large_map(corpus: VectorCorpus, settings: projection.MapSettings) -> large_map.LargeMap | None:
    """The map; None, with progress shown, until it is computed."""
    found: large_map.LargeMap | None = jobs.result(
        f"large map {corpus.digest} {settings}",
        f"{settings.kind} of {corpus.name}",
        lambda: large_map.large_map(corpus, settings),
    )
    return found


@st.fragment
def _draw(corpus: VectorCorpus, settings: projection.MapSettings, found: large_map.LargeMap) -> None:
    """The canvas, and the neighbours of the clicked point; a click reruns this fragment only."""
    mount = st.components.v2.component(
        "density_map", html=sentence_maps.CANVAS_HTML, css=sentence_maps.CANVAS_CSS, js=sentence_maps.canvas_script()
    )
    event = mount(
        key=f"map of vectors {corpus.digest[:12]}",
        data=_content(corpus.digest, settings, found, corpus),
        on_picked_change=lambda: None,
    )
    st.caption(messages.plain(found.note))
    st.caption(found.faithfulness.text, help=QUALITY)
    downloads.rows(lambda: large_map.table(corpus, found), f"map {corpus.name}", "Map (CSV)")
    picked = getattr(event, "picked", None)
    if picked is not None:
        st.session_state[PICKED] = (corpus.digest, int(found.rows[int(picked)]))
    digest, row = st.session_state.get(PICKED, ("", 0))
    if digest == corpus.digest:
        _neighbours(corpus, row)


@st.cache_resource(max_entries=2, show_spinner=False)
def _content(digest: str, settings: projection.MapSettings, _found: large_map.LargeMap, _corpus: VectorCorpus) -> Any:
    return sentence_maps.canvas_content(_found.places, _corpus.texts(_found.rows.tolist()), _found.names)


def _neighbours(corpus: VectorCorpus, row: int) -> None:
    try:
        search = vector_corpora.searchable(corpus, vector_index.FLAT)
    except StrataError as error:
        messages.trouble(error)
        return
    if search is None:
        return
    st.subheader("Nearest neighbours")
    text = corpus.text(row)
    st.caption(f"Of “{messages.plain(messages.shortened(text, 200))}”, by cosine of the full vectors.")
    near = query_results.hit_rows(search, search.neighbours(row, vector_index.COMPARED))
    number = st.column_config.NumberColumn(format="%.3f", width="small", help="−1 to 1. Higher is more similar.")
    st.dataframe(
        near,
        hide_index=True,
        column_config={"sentence": st.column_config.TextColumn(width="large"), "cosine": number},
    )
    downloads.rows(near, f"neighbours of {messages.shortened(text, 40)}", "Neighbours (CSV)")
