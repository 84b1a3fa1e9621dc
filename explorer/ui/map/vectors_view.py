"""Map vectors on disk, up to 200,000, on a canvas; the neighbours of a clicked point are searched."""

from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from explorer import errors
from explorer.data.vectors.vector_corpus import VectorCorpus
from explorer.drawing.sentences import sentence_maps as drawing
from explorer.measuring.maps import map_tables, projection
from explorer.measuring.neighbours import query_results, vector_index
from explorer.ui import messages
from explorer.ui.access import cached, jobs, sidebar_choice
from explorer.ui.map import map_view
from explorer.ui.widgets import downloads, first_screen

PICKED = "_map_picked_row"


def show(
    answer: DeltaGenerator,
    path: str,
    reader: sidebar_choice.Reader,
    settings: projection.MapSettings,
    *,
    has_model_b: bool,
) -> None:
    """The map of the vectors under A's layer & pooling, or of the only ones that are there."""
    with first_screen.figure():
        corpus = cached.corpus_on_disk(path, reader.reading.title)
        if corpus is None:
            return
        at_once = projection.MapSettings("PCA", seed=settings.seed)
        used = settings if settings.kind == "UMAP" else at_once
        first = _large_map(corpus, at_once)
        if first is None:
            return
        found = _large_map(corpus, used)
        if found is None:
            st.caption("This is PCA, until UMAP is ready.")
            used, found = at_once, first
        with answer:
            st.markdown(messages.plain(f"{corpus.note} {found.faithfulness.text}"), help=map_view.QUALITY)
        _draw(corpus, used, found)
    if has_model_b:
        st.caption(cached.ONE_ENCODER)


def _large_map(corpus: VectorCorpus, settings: projection.MapSettings) -> map_tables.LargeMap | None:
    found: map_tables.LargeMap | None = jobs.result(
        f"large map {corpus.digest} {settings}",
        f"{settings.kind} of {corpus.name}",
        lambda: map_tables.large_map(corpus, settings),
    )
    return found


@st.fragment
def _draw(corpus: VectorCorpus, settings: projection.MapSettings, mapped: map_tables.LargeMap) -> None:
    """The canvas, and the neighbours of the clicked point; a click reruns this fragment only."""
    mount = st.components.v2.component(
        "density_map", html=drawing.CANVAS_HTML, css=drawing.CANVAS_CSS, js=drawing.canvas_script()
    )
    event = mount(
        key=f"map of vectors {corpus.digest[:12]}",
        data=_content(corpus.digest, settings, mapped, corpus),
        on_picked_change=lambda: None,
    )
    st.caption(messages.plain(mapped.note))
    downloads.rows(lambda: map_tables.table(corpus, mapped), f"map {corpus.name}", "Map (CSV)")
    picked = getattr(event, "picked", None)
    if picked is not None:
        st.session_state[PICKED] = (corpus.digest, int(mapped.rows[int(picked)]))
    digest, row = st.session_state.get(PICKED, ("", 0))
    if digest != corpus.digest:
        return
    try:
        search = cached.index_on_disk(corpus, vector_index.FLAT)
    except errors.StrataError as error:
        messages.trouble(error)
        return
    if search is not None:
        near = query_results.hit_rows(search, search.found(row, vector_index.COMPARED))
        map_view.neighbours(near, corpus.text(row))


@st.cache_resource(max_entries=2, show_spinner=False)
def _content(digest: str, settings: projection.MapSettings, _found: map_tables.LargeMap, _corpus: VectorCorpus) -> Any:
    return drawing.canvas_content(_found.places, _corpus.texts(_found.rows.tolist()), _found.names)
