"""Choose what is mapped and how: the sentences or vectors, the projection with its settings, and the colour."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import streamlit as st

from explorer.data import map_sentences, sources, uploads
from explorer.data.tables.files import ENDINGS, read_bytes
from explorer.data.text_sets import Attribute, GradedPairs, Sentences
from explorer.data.vectors.vector_corpus import is_vectors
from explorer.errors import StrataError
from explorer.evaluating.tasks.judges import LABEL, judged
from explorer.measuring.maps import projection
from explorer.ui import messages
from explorer.ui.access import cached, sidebar_choice
from explorer.ui.widgets import controls

PAIRS, EXTREMES = "all sentences of the pairs", "most and least similar pairs"
FILE, TYPED = "a file", "typed sentences"
UPLOAD, BEFORE = "uploaded sentences", "map an upload"
TEXT_BOX = "The text box"
TYPE_TWO = "Type at least two sentences, one a line."
NO_EXTREMES = (
    "This evaluation set has no gold scores to find the most and least similar pairs by. Choose scored pairs in the "
    "sidebar, or map all sentences."
)
SUGGESTED = "\n".join(
    (
        "The kettle boils.", "Water is boiling in the kettle.", "Put the kettle on, please.",
        "A train leaves the station.", "The last train has gone.", "We missed our train again.",
        "She plays the violin.", "A girl is playing an instrument.", "The orchestra tunes up.",
        "Prices rose again in March.", "Inflation is higher than last year.", "Bread costs more than it did.",
    )
)  # fmt: skip


def map_settings() -> projection.MapSettings:
    """The projection and its own settings."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kind = controls.segments(
            "Projection",
            list(projection.KINDS),
            default="UMAP",
            key="projection",
            help="UMAP and t-SNE preserve neighbours; their large distances mean little. PCA preserves large distances "
            "and shows the directions of highest variance.",
        )
        axes = controls.segments("Dimensions", [2, 3], default=2, key="axes", format_func="{}-D".format)
        with st.popover("Settings", icon=":material/tune:"):
            further = _settings(kind)
    return projection.MapSettings(kind, axes, **further)


def colour(where: st.delta_generator.DeltaGenerator, columns: Sequence[Attribute]) -> Attribute:
    """The column that colours the sentences; the first is the default."""
    names = [column.name for column in columns]
    if st.session_state.get("map_colour") not in names:
        st.session_state.pop("map_colour", None)  # the new text lacks this column
    chosen: str = where.selectbox("Colour by", names, key="map_colour", bind="query-params", width=240)
    return columns[names.index(chosen)]


def _settings(kind: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if kind == "UMAP":
        found["neighbours"] = st.slider(
            "Neighbours",
            *projection.NEIGHBOURS,
            value=15,
            key="neighbours",
            bind="query-params",
            help="UMAP's n_neighbors. Small: local detail. Large: global structure.",
        )
        found["min_dist"] = st.slider(
            "Minimum distance",
            *projection.MIN_DIST,
            value=0.1,
            step=0.01,
            key="min_dist",
            bind="query-params",
            help="UMAP's min_dist: how close points may be. Small: tight clusters.",
        )
    if kind == "t-SNE":
        found["perplexity"] = st.slider(
            "Perplexity",
            *projection.PERPLEXITY,
            value=30,
            key="perplexity",
            bind="query-params",
            help="t-SNE's perplexity: about how many neighbours count for each sentence. Small: local detail.",
        )
    if kind != "PCA" or st.session_state.get("mapped") == EXTREMES:  # else nothing is random
        found["seed"] = st.number_input(
            "Seed",
            0,
            2**31 - 1,
            value=0,
            key="map_seed",
            bind="query-params",
            help="Change the seed to test the map: trust only structure that stays.",
        )
    return found


def sentences(choice: sidebar_choice.Choice, seed: int) -> Sentences | Path | None:
    """The sentences with their attributes, or the path of vectors on disk; None, with the error shown, without any."""
    kind: str = controls.segments(
        "Sentences",
        [PAIRS, EXTREMES, FILE, TYPED],
        default=PAIRS,
        key="mapped",
        help="The pairs are those of the sidebar's evaluation set. The last two options map your own sentences. The "
        "second draws the 20 most and the 20 least similar pairs by gold score, each joined by a line.",
    )
    try:
        if kind == FILE:
            found = _of_file()
        elif kind == TYPED:
            found = _typed()
        elif (given := sidebar_choice.evaluated_on(choice.evaluation_set)) is None:
            return None
        elif isinstance(given, GradedPairs):
            found = map_sentences.extremes(given, seed) if kind == EXTREMES else cached.described_pairs(given)
        elif kind == EXTREMES:
            st.info(NO_EXTREMES, icon=":material/block:")
            return None
        else:
            columns = judged(given)
            found = map_sentences.of_set(given.name, columns.texts, columns.columns.get(LABEL, ()))
        return map_sentences.sampled(found, seed=seed) if isinstance(found, Sentences) else found
    except StrataError as error:
        messages.trouble(error)
        return None


def _of_file() -> Sentences | Path | None:
    """A file on this machine, by path or uploaded; the visitor can change its sentence column."""
    controls.refused()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        file = st.text_input(
            "File path",
            key="map_file",
            bind="query-params",
            placeholder="sentences.csv",
            help=f"A file on this machine: {', '.join(ENDINGS)}. Its columns can colour the sentences. Vectors are "
            "mapped as they are, up to 200,000: the path of a folder of `embed --with-text`, of a .parquet file of "
            "sentences and vectors, or of a .npy with its .txt.",
        ).strip()
        controls.upload_to_keep("Sentences (file)", UPLOAD, _take)
        before = uploads.paths()
        if before and not file:
            st.selectbox(
                "Uploaded before",
                before,
                index=None,
                format_func=sources.label,
                key=BEFORE,
                on_change=lambda: _take(st.session_state[BEFORE]),
            )
    if not file:
        st.info("Type the path of a file, or upload one.", icon=":material/upload_file:")
        return None
    if is_vectors(file):
        return Path(file)
    names = cached.columns_of(file)
    column = None
    if len(names) > 1:
        if st.session_state.get("map_column") not in names:
            st.session_state.pop("map_column", None)
        column = st.selectbox(
            "Sentence column", names, cached.sentence_column(file), key="map_column", bind="query-params"
        )
    return cached.described_file(file, column)


def _typed() -> Sentences | None:
    typed = st.text_area("One sentence a line", SUGGESTED, height=220, key="map typed", persist_state="session")
    if not typed.strip():
        st.info(TYPE_TWO, icon=":material/edit:")
        return None
    table = read_bytes("typed.txt", typed.encode("utf-8", "replace"))
    return replace(map_sentences.of_table(replace(table, name=TEXT_BOX)), name="the text box")


def _take(path: str | None) -> None:
    if path is not None:
        st.session_state["map_file"] = path
