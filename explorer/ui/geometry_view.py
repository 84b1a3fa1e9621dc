"""How do the layers of A and B lie in space, and how far has each moved? Looked at when asked for."""

from __future__ import annotations

import streamlit as st

from explorer.drawing import layer_geometry as drawn
from explorer.measuring.bootstrap import Interval
from explorer.measuring.geometry_tables import (
    HOW_TO_READ,
    MEASURES,
    definition,
    drift_rows,
    geometry_rows,
    not_comparable,
)
from explorer.measuring.layer_geometry import MOST, LayerGeometry, layer_geometry, layer_of
from explorer.measuring.measure import Settings
from explorer.ui import cached, camera, downloads, notices, vectors
from explorer.ui.panels import Shown

Sides = tuple[Shown, Shown]


def asked() -> bool:
    """Whether it is to be shown: reading sentences takes a while, and the rest of the page need not wait."""
    st.subheader("Geometry and drift")
    shown: bool = st.toggle(
        "Show how the layers lie in space, and how far each has moved",
        key="geometry",
        bind="query-params",
        help=f"Reads the sentences of the pairs, at most {MOST:,}, once with A and once with B.",
    )
    return shown


def is_there(sides: Sides, pooling: str, settings: Settings) -> bool:
    """Whether it was looked at before."""
    return bool(cached.held(_key(sides, pooling, settings)))


def found(sides: Sides, pooling: str, settings: Settings) -> LayerGeometry | None:
    """The numbers; None while they are being made, which is shown."""
    one, other = sides
    readings = one.reading, other.reading
    made: LayerGeometry | None = vectors.made(
        _key(sides, pooling, settings),
        f"Geometry of {one.found.name} and {other.found.name}",
        lambda: layer_geometry((one.found, other.found), one.pairs, pooling, readings, settings, cached.encoder),
    )
    return made.standing_for(readings) if made else None


def show(geometry: LayerGeometry, differences: Interval | None, stem: str) -> None:
    """Every measure by layer, alignment by uniformity, and the drift."""
    st.caption(notices.plain(definition(geometry)))
    for start in range(0, len(MEASURES), 3):
        for column, measure in zip(st.columns(3, gap="small"), MEASURES[start : start + 3], strict=False):
            with column:
                st.markdown(f"**{measure.name[0].upper()}{measure.name[1:]}**", help=measure.meaning)
                st.plotly_chart(
                    drawn.measure_by_layer(geometry, measure),
                    config=camera.config(measure.name.replace(" ", "-")),
                    alt=f"{measure.name} of A and B by layer. {measure.meaning} The table below holds the numbers.",
                )
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown("**Alignment and uniformity**", help="The arrow leads from A to B, at the chosen readings.")
        st.plotly_chart(
            drawn.alignment_by_uniformity(geometry),
            config=camera.config("alignment-uniformity"),
            alt="Each layer of A and B by its uniformity and alignment, with an arrow between the chosen readings.",
        )
    with right:
        _drift(geometry, differences)
    with st.expander("The numbers"):
        _tables(geometry, differences, stem)


def _drift(geometry: LayerGeometry, differences: Interval | None) -> None:
    if geometry.alike:
        st.markdown("**Drift by layer**", help=HOW_TO_READ)
        st.plotly_chart(
            drawn.drift_by_layer(geometry, differences),
            config=camera.config("drift"),
            alt="CKA, shift and the difference of the scores by layer. The table below holds the numbers.",
        )
        st.caption(HOW_TO_READ)
    if not_comparable(geometry):
        st.info(not_comparable(geometry), icon=":material/difference:")


def _tables(geometry: LayerGeometry, differences: Interval | None, stem: str) -> None:
    rows, moved = geometry_rows(geometry), drift_rows(geometry, differences)
    number = st.column_config.NumberColumn(format="%.3f", width="small")
    st.dataframe(rows, hide_index=True, column_config={measure.name: number for measure in MEASURES})
    downloads.rows(rows, f"{stem} geometry", "Geometry (CSV)")
    if moved:
        st.dataframe(moved, hide_index=True)
        downloads.rows(moved, f"{stem} drift", "Drift (CSV)")


def _key(sides: Sides, pooling: str, settings: Settings) -> str:
    # a reading that is one of the layers needs no other look
    apart = [side.reading.title for side in sides if layer_of(side.reading, pooling) is None]
    one, other = sides
    return f"geometry {one.found.digest} {other.found.digest} {one.pairs.digest} {pooling} {apart} {settings}"
