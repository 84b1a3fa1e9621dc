"""Choose what is mapped and how, and which sentences are selected in every map.

Maps side by side are plotly's, and a redrawn one loses its lasso selection. So only the other map is redrawn with the
selection, and the map with the lasso keeps it. A search word is kept in the address instead of the sentences that it
selects; a lasso selection clears the word.
"""

from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from explorer.data import map_sentences, sources, uploads
from explorer.data.set_items import LABEL, Attribute
from explorer.data.tables.files import ENDINGS
from explorer.data.text_sets import GradedPairs, Sentences, digest_of
from explorer.data.vectors.opening import is_vectors
from explorer.errors import StrataError
from explorer.measuring.maps import projection
from explorer.typed_numbers import whole_in
from explorer.ui import messages
from explorer.ui.access import cached_texts, set_choice, sidebar_choice
from explorer.ui.access import selection as own
from explorer.ui.widgets import controls, downloads, first_screen

MINE, PAIRS, EXTREMES, FILE = "my sentences", "evaluation set", "most and least similar pairs", "a file"
MAPPED, USE = "mapped", "use these sentences"  # keys
UPLOAD, BEFORE = "uploaded sentences", "map an upload"
TYPE_TWO = "Type at least two sentences, one a line."
NO_EXTREMES = (
    "This evaluation set has no gold scores to find the most and least similar pairs by. Choose scored pairs in the "
    "sidebar, or map all sentences."
)
MOVE, BOTH, DEEP, LAYERS_OF_A, LAYERS_OF_B = "map", "side by side", "3-D", "layers of A", "layers of B"  # views
ADDRESS = "selected"  # the parameter; at most MOST_IN_ADDRESS numbers, because addresses have a maximum length
MOST_IN_ADDRESS = 100
WORD = "find"  # the parameter of the word
_SELECTED, _LIT, _SUBJECT, _DRAWN_WITH = "_map_selected", "_map_lit", "_map_subject", "_map_drawn_with"
_TIMES = "_map_times"
SIDES = ("A", "B")
LONGEST_WORD = 200  # characters
NONE_FOUND = "No sentence contains “{}”."


def map_settings(row: DeltaGenerator, last: DeltaGenerator, view: str, count: int | None) -> projection.MapSettings:
    """The projection and its own settings; of vectors on disk, whose `count` is None, and of layers without t-SNE.

    Only what can be drawn is offered, so that the control says what is drawn.
    """
    few = count is not None and count < projection.LEAST
    kinds = (
        ("PCA",)
        if few
        else ("UMAP", "PCA")
        if count is None or view in (LAYERS_OF_A, LAYERS_OF_B)
        else projection.KINDS
    )
    knob = projection.MapSettings.knobs["kind"]
    with row:
        kind = controls.menu(
            knob.label, list(kinds), default=kinds[0], key="projection", width=_wide(95), help=knob.help
        )
    with last, first_screen.settings():
        further = _settings(kind)
    return projection.MapSettings(kind, 3 if view == DEEP else 2, **further)


def view(row: DeltaGenerator, sides: int) -> str:
    """How the map is shown: one that moves from A to B, A and B side by side, in 3-D, or one through all layers."""
    titles = {MOVE: "A → B" if sides > 1 else "A", DEEP: "3-D"}
    offered = [MOVE, *([BOTH] if sides > 1 else []), DEEP, LAYERS_OF_A, *([LAYERS_OF_B] if sides > 1 else [])]
    with row:
        found: str = controls.menu(
            "View",
            offered,
            default=MOVE,
            key="map_view",
            width=_wide(125),
            format_func=lambda one: titles.get(one, one),
            help="**A → B**: one map that moves. **Layers**: one map that moves through the layers of a model; they "
            "are encoded and laid out in the background, about as long as one map for each layer.",
        )
    return found


def colour(where: DeltaGenerator, columns: Sequence[Attribute]) -> Attribute:
    """The column that colours the sentences; the first is the default."""
    names = [column.name for column in columns]
    with where:
        chosen: str = controls.menu("Colour by", names, default=names[0], key="map_colour", width=_wide(180))
    return columns[names.index(chosen)]


def _settings(kind: str) -> dict[str, Any]:
    """What the settings of a kind say; the seed is one, but where nothing is random."""
    unused = {"kind", "axes"}
    if kind == "PCA" and st.session_state.get("mapped") != EXTREMES:
        unused.add("seed")
    asked, keys, of = projection.MapSettings.knobs, {"seed": "map_seed"}, projection.KIND_OF
    return {
        name: controls.draw("", knob, key=keys.get(name, name), slider=name in of, bind="query-params", width="stretch")
        for name, knob in asked.items()
        if name not in unused and of.get(name, kind) == kind
    }


def sentences(row: DeltaGenerator, choice: sidebar_choice.Choice) -> Sentences | Path | None:
    """The sentences with their attributes, or the path of vectors on disk; None, with the error shown, without any."""
    with row:
        kind: str = controls.menu(
            "Sentences",
            [MINE, PAIRS, EXTREMES, FILE],
            default=MINE if own.is_chosen(own.SENTENCES) else PAIRS,
            key=MAPPED,
            width=_wide(150),
            help="**My sentences** are the same on every page. The evaluation set is that of the sidebar; of its most "
            "and least similar pairs 20 each are drawn, by gold score, joined by lines.",
        )
    controls.refused()
    try:
        if kind == FILE:
            found = _of_file(row)
        elif kind == MINE:
            with row, st.popover("Edit", icon=":material/edit:"):
                _typed()
            found = map_sentences.of_texts(MINE, own.sentences())
        elif (given := set_choice.evaluated_on(choice.evaluation_set)) is None:
            return None
        elif isinstance(given, GradedPairs):
            found = map_sentences.extremes(given, _seed()) if kind == EXTREMES else cached_texts.described_pairs(given)
        elif kind == EXTREMES:
            st.info(NO_EXTREMES, icon=":material/block:")
            return None
        else:
            labels = given.shown_columns.get(LABEL, ())
            found = map_sentences.of_set(given.name, given.text_columns, labels)
        return map_sentences.sampled(found, seed=_seed()) if isinstance(found, Sentences) else found
    except StrataError as error:
        messages.trouble(error)
        return None


def _of_file(row: DeltaGenerator) -> Sentences | Path | None:
    """A file on this machine, by path or uploaded; the visitor can change its sentence column."""
    with row, st.popover("File", icon=":material/upload_file:"):
        file = st.text_input(
            "File path",
            key="map_file",
            bind="query-params",
            placeholder="sentences.csv",
            help=f"A file on this machine: {', '.join(ENDINGS)}. Its columns can colour the sentences. Vectors are "
            "mapped as they are, up to 200,000: the path of a folder of `embed --with-text`, of a .parquet file of "
            "sentences and vectors, or of a .npy with its .txt.",
        ).strip()
        controls.upload_to_keep("Sentences (file)", UPLOAD, _take_file, opened=True)
        before = uploads.paths()
        if before and not file:
            st.selectbox(
                "Uploaded before",
                before,
                index=None,
                format_func=sources.label,
                key=BEFORE,
                on_change=lambda: _take_file(st.session_state[BEFORE]),
            )
        vectors = bool(file) and is_vectors(file)
        names = cached_texts.columns_of(file) if file and not vectors else ()
        column = None
        if len(names) > 1:
            usual = names[cached_texts.sentence_column(file)]
            column = controls.menu("Sentence column", names, default=usual, key="map_column")
    if not file:
        st.info("Open **File**, and type the path of a file or upload one.", icon=":material/upload_file:")
        return None
    return Path(file) if vectors else cached_texts.described_file(file, column)


def _typed() -> None:
    """Type the sentences of all pages."""
    shown = own.sentences()
    key = f"typed on the map {digest_of(shown)[:8]}"  # chosen elsewhere, they are shown here

    def use() -> None:
        lines = [" ".join(line.split()) for line in st.session_state[key].splitlines()]
        chosen = list(dict.fromkeys(line for line in lines if line))
        if len(chosen) < 2:
            st.session_state[controls.REFUSED] = TYPE_TWO
            return
        own.choose_sentences(chosen)
        st.session_state[MAPPED] = MINE

    st.text_area(f"One sentence a line, at most {own.MOST}", "\n".join(shown), height=240, width=480, key=key)
    st.button("Use these sentences", key=USE, icon=":material/check:", on_click=use)


def _wide(pixels: int) -> int:
    """The width of a control, which grows with its text."""
    return round(pixels * (1.3 if downloads.presenting() else 1))


def _seed() -> int:
    """The seed of the settings, which are drawn below the sentences: at first that of the address."""
    return st.session_state.get("map_seed", whole_in(st.query_params.get("map_seed", ""))) or 0


def _take_file(path: str | None) -> None:
    if path is not None:
        st.session_state["map_file"] = path


def selection(subject: Hashable, drawn_with: Hashable, count: int, lit: Sequence[int] | None) -> tuple[int, ...]:
    """The indices of the selected sentences, of `count`; for new sentences, those that contain the search word.

    If the maps' projection or colour changed, both are redrawn with the selection.
    """
    if st.session_state.get(_SUBJECT) != subject:
        opened = _SUBJECT not in st.session_state  # only the first address may come from a shared link
        numbers = map(whole_in, st.query_params.get(ADDRESS, "").split("-") if opened else ())
        linked = dict.fromkeys(number for number in numbers if number is not None and number < count)
        st.session_state[_SELECTED] = tuple(linked if lit is None else lit)
        st.session_state[_SUBJECT] = subject
        st.session_state.pop(_DRAWN_WITH, None)
    selected: tuple[int, ...] = st.session_state[_SELECTED]
    if st.session_state.get(_DRAWN_WITH) != drawn_with:
        st.session_state[_DRAWN_WITH] = drawn_with
        select(selected)
    if lit is None and 0 < len(selected) <= MOST_IN_ADDRESS:
        st.query_params[ADDRESS] = "-".join(map(str, selected))
    else:
        st.query_params.pop(ADDRESS, None)
    return selected


def drawn_selection(side: str) -> tuple[int, ...] | None:
    """The selection that a map is drawn with; None if nothing is selected."""
    return st.session_state[_LIT][side] or None


def times_selected(side: str) -> int:
    """How often a map's selection was set; as a revision number, it forces a redraw for an equal selection."""
    of_sides: dict[str, int] = st.session_state[_TIMES]
    return of_sides[side]


def select(places: Sequence[int]) -> None:
    """Select these sentences in both maps."""
    st.session_state[_SELECTED] = tuple(places)
    for side in SIDES:
        _redraw(side, tuple(places))


def clear_selection() -> None:
    """Select none; only in a callback."""
    st.session_state[WORD] = ""
    select(())


def take(places: Sequence[int]) -> None:
    """Take over a selection of the moving map, which shows it already; in its callback."""
    st.session_state[WORD] = ""
    select(places)


def revision() -> int:
    """A number that changes with the selection."""
    return sum(times_selected(side) for side in SIDES)


def take_lasso(side: str, key: str) -> None:
    """Take over the lasso selection of a map; in its callback."""
    points = st.session_state[key]["selection"]["points"]
    # a line or a bar has no number
    places = tuple(dict.fromkeys(int(point["customdata"]) for point in points if "customdata" in point))
    st.session_state[WORD] = ""
    st.session_state[_SELECTED] = places
    for other in SIDES:
        if other != side:
            _redraw(other, places)


def _redraw(side: str, places: tuple[int, ...]) -> None:
    st.session_state[_LIT] = st.session_state.get(_LIT, {}) | {side: places}
    st.session_state[_TIMES] = st.session_state.get(_TIMES, {}) | {
        side: st.session_state.get(_TIMES, {}).get(side, 0) + 1
    }


def containing(where: DeltaGenerator, texts: Sequence[str]) -> tuple[int, ...] | None:
    """The indices of the sentences that contain the typed text; None if nothing is typed."""
    typed: str = where.text_input(
        "Find",
        key=WORD,
        bind="query-params",
        max_chars=LONGEST_WORD,
        on_change=lambda: select(_holding(st.session_state[WORD], texts) or ()),
        placeholder="a word",
        width=_wide(100),
        help="Selects every sentence that contains it, ignoring case.",
    )
    places = _holding(typed, texts)
    if places == ():
        st.caption(NONE_FOUND.format(messages.plain(messages.shortened(typed))))
    return places


def _holding(typed: str, texts: Sequence[str]) -> tuple[int, ...] | None:
    word = " ".join(typed.split()).casefold()
    if not word:
        return None
    return tuple(place for place, text in enumerate(texts) if word in " ".join(text.split()).casefold())
