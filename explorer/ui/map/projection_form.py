"""How is the map made, and what colours it? Controls, each in the address."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from explorer.data.map_sentences import Column
from explorer.measuring.maps import projection
from explorer.measuring.maps.projection import Way
from explorer.ui.map import sentence_source


def way() -> Way:
    """The projection and its settings; of settings only those that it has."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kind = st.segmented_control(
            "Projection",
            list(projection.KINDS),
            default="UMAP",
            required=True,
            key="projection",
            bind="query-params",
            help="UMAP and t-SNE keep neighbours together; what is far apart on them says little. PCA keeps large "
            "distances, and shows the directions in which sentences differ most.",
        )
        axes = st.segmented_control(
            "Dimensions", [2, 3], default=2, required=True, key="axes", bind="query-params", format_func="{}-D".format
        )
        with st.popover("Settings", icon=":material/tune:"):
            settings = _settings(kind)
    return Way(kind, axes, **settings)


def colour(where: DeltaGenerator, columns: Sequence[Column]) -> Column:
    """By what sentences are coloured; the first is the default."""
    names = [column.name for column in columns]
    if st.session_state.get("map_colour") not in names:
        st.session_state.pop("map_colour", None)  # another text has other columns
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
            help="Few show fine grain, many the outline.",
        )
        found["min_dist"] = st.slider(
            "Least distance",
            *projection.MIN_DIST,
            value=0.1,
            step=0.01,
            key="min_dist",
            bind="query-params",
            help="How close sentences may lie. Small packs them tightly.",
        )
    if kind == "t-SNE":
        found["perplexity"] = st.slider(
            "Perplexity",
            *projection.PERPLEXITY,
            value=30,
            key="perplexity",
            bind="query-params",
            help="About how many neighbours a sentence heeds.",
        )
    if kind != "PCA" or st.session_state.get("mapped") == sentence_source.EXTREMES:  # else nothing is left to chance
        found["seed"] = st.number_input(
            "Seed",
            0,
            2**31 - 1,
            value=0,
            key="map_seed",
            bind="query-params",
            help="What looks the same under another seed can be believed.",
        )
    return found
