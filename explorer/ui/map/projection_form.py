"""Controls for the projection, its settings and the colour; each is kept in the address."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from explorer.data.kinds import Attribute
from explorer.measuring.maps import projection
from explorer.measuring.maps.projection import MapSettings
from explorer.ui.map import sentence_source
from explorer.ui.widgets import segments


def settings() -> MapSettings:
    """The projection and its own settings."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kind = segments.chosen(
            "Projection",
            list(projection.KINDS),
            default="UMAP",
            key="projection",
            help="UMAP and t-SNE preserve neighbours; their large distances mean little. PCA preserves large distances "
            "and shows the directions of highest variance.",
        )
        axes = segments.chosen("Dimensions", [2, 3], default=2, key="axes", format_func="{}-D".format)
        with st.popover("Settings", icon=":material/tune:"):
            given = _settings(kind)
    return MapSettings(kind, axes, **given)


def colour(where: DeltaGenerator, columns: Sequence[Attribute]) -> Attribute:
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
    if kind != "PCA" or st.session_state.get("mapped") == sentence_source.EXTREMES:  # else nothing is random
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
