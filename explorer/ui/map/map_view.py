"""Draw the map of A and B: one that moves, both side by side, or in 3-D; its answer, and what is listed below it."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray
from streamlit.delta_generator import DeltaGenerator

from explorer import progress
from explorer.data.set_items import Attribute
from explorer.data.text_sets import Sentences, digest_of
from explorer.drawing.sentences import moving_map
from explorer.drawing.sentences import sentence_maps as drawing
from explorer.measuring.maps import frames, map_tables, projection, umap_layout
from explorer.measuring.neighbours import vector_index
from explorer.ui import messages
from explorer.ui.access import cached, jobs, sidebar_choice
from explorer.ui.map import layers_view, map_answer, map_form
from explorer.ui.widgets import downloads, first_screen
from explorer.ui.widgets import moving_map as moving

MOVED, CHANGED = "moved (1 − cosine)", "neighbours changed"
SHOWN = 500  # rows of a table; the file contains all
SELECTED, MOST, QUALITY_TAB, EXPORT = "Selected", "Moved most", "Quality of the map", "Export"
QUALITY = (
    "Trustworthiness, 0 to 1: higher is better, above 0.9 is good, 0.5 is random. Neighbours preserved, 0 to 100 %: "
    "higher is better. Check neighbours beside the map, not on it."
)
NONE_SELECTED = (
    "Nothing is selected. Drag around sentences with the shift key (or ⬚), click one more with the shift key, or use "
    "**Find**."
)


@dataclass(frozen=True, eq=False)
class Mapped:
    """Sentences on one or two maps."""

    subject: str  # identifies the sentences and the encoders
    described: Sentences  # with what changed from A to B among the columns
    sides: tuple[sidebar_choice.Reader, ...]
    vectors: tuple[cached.Vectors, ...]
    near: tuple[vector_index.Neighbourhoods, ...]
    frames: frames.Frames
    maps: projection.Maps


def show(
    answer: DeltaGenerator,
    row: DeltaGenerator,
    sentences: Sentences,
    sides: tuple[sidebar_choice.Reader, ...],
    view: str,
    settings: projection.MapSettings,
) -> None:
    """The answer, the map as the view says, and the open tab."""
    figure = first_screen.figure()
    with figure:
        if view in (map_form.LAYERS_OF_A, map_form.LAYERS_OF_B):
            side = sides[view == map_form.LAYERS_OF_B]
            layered = layers_view.layered(sentences, side, settings)
            if layered is not None:
                layers_view.show(answer, row, figure, sentences, side, layered, settings)
            return
        maps_of = mapped(sentences, sides, settings)
    if maps_of is None:
        return
    with answer:
        if len(sides) > 1:
            map_answer.changed(maps_of.described, maps_of.frames, "A", "B")
        else:
            map_answer.closest(maps_of.described, maps_of.near[0])
    colour = map_form.colour(row, maps_of.described.columns)
    found = map_form.containing(row, maps_of.described.texts)
    selected = map_form.selection(maps_of.subject, (settings, colour.name), len(maps_of.described), found)
    with figure:
        if view == map_form.MOVE:
            _moving(maps_of, settings, colour, selected)
        else:
            _side_by_side(maps_of, colour, selected)
    if len(sides) < 2:
        sidebar_choice.ask_for_b()
    _below(maps_of, selected)


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

    def neighbours() -> progress.Work[tuple[tuple[vector_index.Neighbourhoods, ...], frames.Frames]]:
        found = []
        for name, of_side in zip("AB", vectors, strict=False):
            found.append((yield from vector_index.neighbourhoods(of_side, f"finding neighbours in {name}")))
        return tuple(found), (yield from frames.frames(vectors, found))

    known = jobs.result(f"neighbours {subject}", f"Neighbours of {count}", neighbours)
    if known is None:
        return None
    near, compared = known
    maps = jobs.result(
        f"map {subject} {settings}", f"{settings.kind} of {count}", lambda: projection.maps(one, other, near, settings)
    )
    if maps is None:
        return None
    changes = [] if other is None else _changes(compared, near)
    # the changes come first, but after groups: the first column colours the map by default
    grouped = bool(described.columns) and not described.columns[0].counts
    first = described.columns[: 1 if described.lines or grouped else 0]
    described = replace(described, columns=(*first, *changes, *described.columns[len(first) :]))
    return Mapped(subject, described, sides, tuple(vectors), near, compared, maps)


def _changes(compared: frames.Frames, near: tuple[vector_index.Neighbourhoods, ...]) -> Iterable[Attribute]:
    """The distance each sentence moved from A to B, and the share of its neighbours that changed."""
    if compared.moved is not None:
        yield Attribute(MOVED, tuple(compared.moved[-1].tolist()))
    changed = 1 - vector_index.overlap_of(*(side.places[:, : vector_index.COMPARED] for side in near)).jaccard
    if np.isfinite(changed).any():
        yield Attribute(CHANGED, tuple(changed.tolist()))


def _moving(mapped: Mapped, settings: projection.MapSettings, colour: Attribute, selected: tuple[int, ...]) -> None:
    """The map that moves from A to B, or that of A."""
    names = [side.name for side in mapped.sides]
    places = np.stack([one[:, :2] for one in mapped.maps.places])
    moving.show(
        _content(digest_of([mapped.subject, repr(settings), colour.name]), mapped, colour, places),
        subject=f"{mapped.subject} {settings}",
        name="map",
        alt=f"{mapped.maps.kind} of {len(mapped.described):,} sentences in {' and '.join(names)}, coloured by "
        f"{colour.name}.",
        selected=selected,
        revision=map_form.revision(),
        select=map_form.take,
    )


@st.cache_resource(max_entries=4, show_spinner=False)
def _content(key: str, _mapped: Mapped, _colour: Attribute, _places: NDArray[np.float32]) -> dict[str, Any]:
    compared, described = _mapped.frames, _mapped.described
    two = len(_mapped.sides) > 1
    shade = {group.name: group.colour for group in drawing.groups(described.columns[0])} if described.lines else {}
    return moving_map.content(
        key,
        described.texts,
        [side.name for side in _mapped.sides],
        _places,
        compared,
        moving_map.shades_of(_colour),
        title=_mapped.maps.kind,
        most=compared.most_moved() if two else [],
        most_title="Moved most from A to B",
        pairs=[
            (one, other, shade.get(str(described.columns[0].cells[one])) or "#8A8F98") for one, other in described.lines
        ],
        regions=moving_map.regions(described.texts, _places, of=0),
    )


def _side_by_side(mapped: Mapped, colour: Attribute, selected: tuple[int, ...]) -> None:
    span = drawing.spans(*mapped.maps.places)
    columns = st.columns(len(mapped.sides), gap="medium")
    for name, side, column in zip("AB", mapped.sides, columns, strict=False):
        with column:
            st.markdown(f"{side.title}, {mapped.maps.kind}")
            _one_map(mapped, name, span, colour, selected)


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
def _named(digest: str, places: NDArray[np.float32], _texts: tuple[str, ...]) -> tuple[map_tables.Cluster, ...]:
    return map_tables.clusters(_texts, places)


def _below(mapped: Mapped, selected: tuple[int, ...]) -> None:
    """The open tab: what is selected, what moved most, how good the map is, or the downloads."""
    names = [SELECTED, MOST, QUALITY_TAB, EXPORT]
    if MOVED not in {column.name for column in mapped.described.columns}:
        names.remove(MOST)
    tab = first_screen.tabs(names)
    if tab == SELECTED:
        _selected(mapped, selected)
    elif tab == MOST:
        _moved_most(mapped)
    elif tab == QUALITY_TAB:
        for name, faith in zip("AB", mapped.maps.faithfulness, strict=False):
            st.markdown(f"**{name}** {faith.text}", help=QUALITY)
        notes = (
            *map_tables.line_notes(mapped.described, mapped.vectors),
            *map_tables.width_notes(mapped.vectors),
            mapped.maps.note,
            mapped.described.note,
        )
        for note in filter(None, notes):
            st.caption(messages.plain(note))
    else:
        _export(mapped)


def _moved_most(mapped: Mapped) -> None:
    """The sentences whose vectors changed most from A to B."""
    rows = [
        {name: row[name] for name in ("sentence", MOVED, CHANGED) if name in row}
        for row in map_tables.rows(mapped.described, [], mapped.frames.most_moved())
    ]
    st.dataframe(
        rows,
        hide_index=True,
        placeholder=messages.MISSING,
        key="moved most",
        column_config={
            "sentence": st.column_config.TextColumn(width="large"),
            MOVED: st.column_config.NumberColumn(format="%.2f", help="0: unchanged. Higher: moved further."),
            CHANGED: st.column_config.NumberColumn(format="%.2f"),
        },
    )


def _export(mapped: Mapped) -> None:
    """Download both maps as a file, and the vectors behind them."""
    rows = map_tables.rows(mapped.described, mapped.maps.places)
    downloads.rows(rows, f"map {' '.join(side.found.name for side in mapped.sides)}", "Maps (CSV)")
    labels = map_tables.labels(mapped.described)
    for side, vectors in zip(mapped.sides, mapped.vectors, strict=True):
        downloads.of_vectors(side.name, side.found.name, mapped.described.texts, vectors, labels)


def _selected(mapped: Mapped, selected: tuple[int, ...]) -> None:
    """The selected sentences as a table, those that moved most first, and the neighbours of the picked row."""
    if not selected:
        st.caption(NONE_SELECTED)
        return
    moved = mapped.described.column(MOVED)
    if moved is not None:
        selected = tuple(sorted(selected, key=lambda at: -float(moved.cells[at])))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.subheader(f"{len(selected):,} selected")
        st.button(
            "Clear selection", key="clear selection", icon=":material/deselect:", on_click=map_form.clear_selection
        )
    rows = map_tables.rows(mapped.described, [], selected)
    which = hashlib.sha256(repr(selected).encode()).hexdigest()[:12]
    event = st.dataframe(
        rows[:SHOWN],
        hide_index=True,
        height=35 * min(8, len(rows) + 1) + 3,
        placeholder=messages.MISSING,
        column_config=_columns(),
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
        neighbours(near, mapped.described.texts[sentence], pick)


def _columns() -> dict[str, Any]:
    """The columns of the table of selected sentences."""
    numbers = {
        name: st.column_config.NumberColumn(label, format="%.3f", width=width, help=help)
        for name, label, width, help in (
            (MOVED, "moved", 90, "1 minus the cosine of the sentence's vectors in A and B. 0: unchanged."),
            (CHANGED, CHANGED, 150, "1 minus the Jaccard index of its neighbours in A and B. 0: same, 1: all changed."),
            ("score of its pairs", None, 140, "Mean gold score of the pairs with this sentence."),
        )
    }
    words = st.column_config.NumberColumn(format="%d", width="small")
    return {"sentence": st.column_config.TextColumn(width="large"), **numbers, "words": words}


def neighbours(rows: downloads.Rows, text: str, pick: str = "") -> None:
    """A table of the nearest neighbours of a sentence."""
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
