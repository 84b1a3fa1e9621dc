"""Compute and draw the maps of A and B side by side, with one selection and its neighbours; map vectors on disk."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import streamlit as st

from explorer import errors, progress
from explorer.data.set_items import Attribute
from explorer.data.text_sets import Sentences, digest_of
from explorer.data.vectors.vector_corpus import VectorCorpus
from explorer.drawing.sentences import sentence_maps as drawing
from explorer.measuring.geometry import vector_geometry
from explorer.measuring.maps import map_tables, projection, umap_layout
from explorer.measuring.neighbours import query_results, vector_index
from explorer.ui import messages
from explorer.ui.access import cached, jobs, sidebar_choice
from explorer.ui.map import map_form
from explorer.ui.widgets import downloads

MOVED, CHANGED = "moved (1 - cosine)", "neighbours changed"
MOST_MOVED = 10  # sentences
SHOWN = 500  # rows of a table; the file contains all
QUALITY = (
    "Quality of the map. Trustworthiness, 0 to 1: higher is better, above 0.9 is good, 0.5 is random. Neighbours "
    "preserved, 0 to 100 %: higher is better. Check neighbours in the table, not on the map."
)
NOT_POSSIBLE = "Vectors on disk are mapped by UMAP or PCA, in two dimensions. This is {} in two dimensions."
PICKED = "_map_picked_row"


@dataclass(frozen=True, eq=False)
class Mapped:
    """Sentences on one or two maps."""

    subject: str  # identifies the sentences and the encoders
    described: Sentences  # with what changed from A to B among the columns
    sides: tuple[sidebar_choice.Reader, ...]
    vectors: tuple[cached.Vectors, ...]
    near: tuple[vector_index.Neighbourhoods, ...]
    maps: projection.Maps


def mapped(
    described: Sentences, sides: tuple[sidebar_choice.Reader, ...], settings: projection.MapSettings
) -> Mapped | None:
    """The maps; None while they are being computed."""
    if settings.kind == "UMAP":
        jobs.follow("UMAP", "Loading UMAP", umap_layout.loaded, lane=jobs.LOADING)
    vectors: list[cached.Vectors] = []
    for side in sides:
        of_side = side.vectors(described.texts)
        if of_side is None:
            return None
        vectors.append(of_side)
    one, other = vectors[0], vectors[1] if len(vectors) > 1 else None
    count = f"{len(described):,} sentences"
    subject = digest_of([described.digest, *(side.key for side in sides)])

    def neighbours() -> progress.Work[tuple[vector_index.Neighbourhoods, ...]]:
        found = []
        for name, of_side in zip("AB", vectors, strict=False):
            found.append((yield from vector_index.neighbourhoods(of_side, f"finding neighbours in {name}")))
        return tuple(found)

    near = jobs.result(f"neighbours {subject}", f"Neighbours of {count}", neighbours)
    if near is None:
        return None
    maps = jobs.result(
        f"map {subject} {settings}", f"{settings.kind} of {count}", lambda: projection.maps(one, other, near, settings)
    )
    if maps is None:
        return None
    known = [] if other is None else _changes(one, other, near)
    # the changes come first, but after groups: the first column colours the map by default
    grouped = bool(described.columns) and not described.columns[0].counts
    first = described.columns[: 1 if described.lines or grouped else 0]
    described = replace(described, columns=(*first, *known, *described.columns[len(first) :]))
    return Mapped(subject, described, sides, tuple(vectors), near, maps)


def _changes(
    one: cached.Vectors, other: cached.Vectors, near: tuple[vector_index.Neighbourhoods, ...]
) -> Iterable[Attribute]:
    """The distance each sentence moved from A to B, and the share of its neighbours that changed."""
    moved = vector_geometry.moved(one, other)
    if moved is not None:
        yield Attribute(MOVED, tuple(moved.tolist()))
    changed = 1 - vector_index.overlap_of(*(side.places[:, : vector_index.COMPARED] for side in near)).jaccard
    if np.isfinite(changed).any():
        yield Attribute(CHANGED, tuple(changed.tolist()))


@st.fragment
def show(mapped: Mapped, settings: projection.MapSettings) -> None:
    """The maps, the selection and its neighbours; a selection reruns this fragment only."""
    tools = st.container(horizontal=True, vertical_alignment="bottom")
    colour = map_form.colour(tools, mapped.described.columns)
    found = map_form.containing(tools, mapped.described.texts)
    selected = map_form.selection(mapped.subject, (settings, colour.name), len(mapped.described), found)
    tools.button(
        "Clear selection",
        key="clear selection",
        icon=":material/deselect:",
        on_click=map_form.clear_selection,
        disabled=not selected,
    )
    if mapped.maps.places[0].shape[1] == 2:
        both = (
            "Select sentences with the lasso in either map: they are highlighted in both. The other map's zoom is "
            "reset."
        )
        st.caption(f"{both if len(mapped.sides) > 1 else 'Select sentences with the lasso.'} Double-click clears.")
    else:
        st.caption("Drag to rotate, scroll to zoom. Select with Find, or with the lasso in 2-D.")
    span = drawing.spans(*mapped.maps.places)
    columns = st.columns(2, gap="medium")
    for name, side, faith, column in zip("AB", mapped.sides, mapped.maps.faithfulness, columns, strict=False):
        with column:
            st.markdown(side.title)
            _one_map(mapped, name, span, colour, selected)
            st.caption(faith.text, help=QUALITY)
    notes = *map_tables.line_notes(mapped.described, mapped.vectors), *map_tables.width_notes(mapped.vectors)
    for note in notes:
        st.caption(messages.plain(note))
    if len(mapped.sides) < 2:
        with columns[1]:
            sidebar_choice.ask_for_b()
    if selected:
        _selected(mapped, selected)
    _moved_most(mapped)


def _moved_most(mapped: Mapped) -> None:
    """The sentences whose vectors changed most from A to B; nothing without a B, or if widths differ."""
    moved = mapped.described.column(MOVED)
    if moved is None:
        return
    st.subheader("Moved most from A to B")
    order = sorted(range(len(moved.cells)), key=lambda at: -float(moved.cells[at]))
    rows = [
        {name: row[name] for name in ("sentence", MOVED, CHANGED) if name in row}
        for row in map_tables.rows(mapped.described, [], order[:MOST_MOVED])
    ]
    number = st.column_config.NumberColumn(format="%.3f")
    st.dataframe(
        rows,
        hide_index=True,
        placeholder=messages.MISSING,
        key="moved most",
        column_config={
            "sentence": st.column_config.TextColumn(width="large"),
            MOVED: st.column_config.NumberColumn(format="%.3f", help="0: unchanged. Higher: moved further."),
            CHANGED: number,
        },
    )


def export(mapped: Mapped) -> None:
    """Download both maps as a file, and the vectors behind them."""
    st.subheader("Export")
    rows = map_tables.rows(mapped.described, mapped.maps.places)
    downloads.rows(rows, f"map {' '.join(side.found.name for side in mapped.sides)}", "Maps (CSV)")
    labels = map_tables.labels(mapped.described)
    for side, vectors in zip(mapped.sides, mapped.vectors, strict=True):
        downloads.of_vectors(side.name, side.found.name, mapped.described.texts, vectors, labels)


def _one_map(
    mapped: Mapped, name: str, span: list[tuple[float, float]], colour: Attribute, selected: tuple[int, ...]
) -> None:
    places = mapped.maps.places["AB".index(name)]
    key = f"map of {name}"
    config = downloads.config(f"map-{name}")
    if len(places) > drawing.SHARP:
        config["plotGlPixelRatio"] = 1  # plotly's default 2 is twice as slow to drag in a browser without a GPU
    alt = f"{mapped.maps.kind} of {len(places):,} sentences in {name}, coloured by {colour.name}."
    if places.shape[1] == 3:
        figure = drawing.deep_map(places, span, mapped.described, colour, selected)
        downloads.draw(figure, key=f"{key} in 3-D", config=config, alt=alt)
        return
    names = []  # of regions of A's map; none where every sentence is written
    if len(mapped.described) >= drawing.FEW:
        clusters = _named(mapped.described.digest, mapped.maps.places[0], mapped.described.texts)
        names = [(one.name, one.middle(places)) for one in clusters]
    figure = drawing.flat_map(places, span, mapped.described, colour, map_form.drawn_selection(name), names)
    downloads.draw(
        # a new revision even for the same selection: otherwise the lasso's outline stays
        figure.update_layout(uirevision=map_form.times_selected(name)),
        key=key,
        on_select=lambda: map_form.take_lasso(name, key),
        selection_mode=("points", "box", "lasso"),
        config=config,
        alt=alt,
    )


@st.cache_resource(max_entries=8, show_spinner=False)
def _named(
    digest: str, places: np.typing.NDArray[np.float32], _texts: tuple[str, ...]
) -> tuple[map_tables.Cluster, ...]:
    return map_tables.clusters(_texts, places)


def _selected(mapped: Mapped, selected: tuple[int, ...]) -> None:
    """The selected sentences as a table, those that moved most first, and the neighbours of the picked row."""
    moved = mapped.described.column(MOVED)
    if moved is not None:
        selected = tuple(sorted(selected, key=lambda at: -float(moved.cells[at])))
    st.subheader(f"{len(selected):,} selected")
    rows = map_tables.rows(mapped.described, [], selected)
    numbers = {
        name: st.column_config.NumberColumn(label, format="%.3f", width=width, help=help)
        for name, label, width, help in (
            (MOVED, "moved", 90, "1 minus the cosine of the sentence's vectors in A and B. 0: unchanged."),
            (CHANGED, CHANGED, 150, "1 minus the Jaccard index of its neighbours in A and B. 0: same, 1: all changed."),
            ("score of its pairs", None, 140, "Mean gold score of the pairs with this sentence."),
        )
    }
    numbers |= {"words": st.column_config.NumberColumn(format="%d", width="small")}
    which = hashlib.sha256(repr(selected).encode()).hexdigest()[:12]
    event = st.dataframe(
        rows[:SHOWN],
        hide_index=True,
        height=35 * min(8, len(rows) + 1) + 3,
        placeholder=messages.MISSING,
        column_config={"sentence": st.column_config.TextColumn(width="large"), **numbers},
        on_select="rerun",
        selection_mode="single-row",
        key=f"selected {mapped.subject} {which}",
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        downloads.rows(rows, "selected sentences", "Selection (CSV)")
        if len(rows) > SHOWN:
            st.caption(f"The first {SHOWN} rows are shown; the file contains all {len(rows):,}.")
    picked = event["selection"]["rows"]
    sentence = selected[picked[0] if picked else 0]
    near = map_tables.neighbour_rows(mapped.described.texts, mapped.vectors, mapped.near, sentence)
    if near:
        pick = " Select another sentence in the table above." if len(mapped.described) > 1 else ""
        _neighbours(near, mapped.described.texts[sentence], pick)


def _neighbours(rows: downloads.Rows, text: str, pick: str = "") -> None:
    st.subheader("Nearest neighbours")
    st.caption(f"Of “{messages.plain(messages.shortened(text, 200))}”, by cosine of the full vectors.{pick}")
    number = st.column_config.NumberColumn(format="%.3f", width="small", help="−1 to 1. Higher is more similar.")
    st.dataframe(
        rows,
        hide_index=True,
        height=35 * min(12, len(rows) + 1) + 3,
        placeholder=messages.MISSING,
        column_config={
            "sentence": st.column_config.TextColumn(width="large"),
            **dict.fromkeys(("cosine", "cosine in A", "cosine in B"), number),
        },
    )
    downloads.rows(rows, f"neighbours of {messages.shortened(text, 40)}", "Neighbours (CSV)")


def show_vectors(
    path: str, reader: sidebar_choice.Reader, settings: projection.MapSettings, *, has_model_b: bool
) -> None:
    """The map of the vectors under A's layer & pooling, or of the only ones that are there."""
    if has_model_b:
        st.caption(cached.ONE_ENCODER)
    corpus = cached.corpus_on_disk(path, reader.reading.title)
    if corpus is None:
        return
    st.markdown(messages.plain(corpus.note))
    kind = settings.kind if settings.kind in map_tables.KINDS else "UMAP"
    at_once = projection.MapSettings("PCA", seed=settings.seed)
    used = at_once
    if kind != "PCA":
        used = projection.MapSettings(kind, 2, settings.neighbours, settings.min_dist, seed=settings.seed)
    if (kind, 2) != (settings.kind, settings.axes):
        st.caption(NOT_POSSIBLE.format(kind))
    first = _large_map(corpus, at_once)
    if first is None:
        return
    found = _large_map(corpus, used)
    if found is None:
        st.caption("This is PCA, until UMAP is ready.")
        used, found = at_once, first
    _draw(corpus, used, found)


def _large_map(corpus: VectorCorpus, settings: projection.MapSettings) -> map_tables.LargeMap | None:
    found: map_tables.LargeMap | None = jobs.result(
        f"large map {corpus.digest} {settings}",
        f"{settings.kind} of {corpus.name}",
        lambda: map_tables.large_map(corpus, settings),
    )
    return found


@st.fragment
def _draw(corpus: VectorCorpus, settings: projection.MapSettings, found: map_tables.LargeMap) -> None:
    """The canvas, and the neighbours of the clicked point; a click reruns this fragment only."""
    mount = st.components.v2.component(
        "density_map", html=drawing.CANVAS_HTML, css=drawing.CANVAS_CSS, js=drawing.canvas_script()
    )
    event = mount(
        key=f"map of vectors {corpus.digest[:12]}",
        data=_content(corpus.digest, settings, found, corpus),
        on_picked_change=lambda: None,
    )
    st.caption(messages.plain(found.note))
    st.caption(found.faithfulness.text, help=QUALITY)
    downloads.rows(lambda: map_tables.table(corpus, found), f"map {corpus.name}", "Map (CSV)")
    picked = getattr(event, "picked", None)
    if picked is not None:
        st.session_state[PICKED] = (corpus.digest, int(found.rows[int(picked)]))
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
        _neighbours(near, corpus.text(row))


@st.cache_resource(max_entries=2, show_spinner=False)
def _content(digest: str, settings: projection.MapSettings, _found: map_tables.LargeMap, _corpus: VectorCorpus) -> Any:
    return drawing.canvas_content(_found.places, _corpus.texts(_found.rows.tolist()), _found.names)
