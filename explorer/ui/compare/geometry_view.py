"""Show the embedding geometry of A, or of A and B, by layer, and the drift of each layer; computed on request."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import streamlit as st

from explorer.data.text_sets import related_pairs
from explorer.drawing.scores import curves as drawn
from explorer.measuring.comparing.comparison_report import Findings, layer_differences
from explorer.measuring.geometry import layer_geometry
from explorer.measuring.scores import bootstrap, layer_scores
from explorer.measuring.scores.measure import Settings
from explorer.ui import messages
from explorer.ui.access import jobs, loaded_encoders, sidebar_choice
from explorer.ui.widgets import controls, downloads

POOLING = "compared_pooling"
Sides = Sequence[sidebar_choice.ModelScores]
NO_PAIRS = "Labelled texts have no pairs to compute the geometry of. Choose pairs, triplets or queries in the sidebar."


def geometry_toggle(count: int) -> bool:
    """Whether the visitor wants it, for `count` sides: encoding takes time, so the page does not wait for it."""
    readers = "A and once with B" if count > 1 else "A"
    knob = replace(
        layer_geometry.GeometryOptions.knobs["geometry"],
        title="Compute embedding geometry by layer" + ", and the drift from A to B" * (count > 1),
        help=f"Encodes the sentences of the pairs, at most {layer_geometry.MOST:,}, once with {readers}. Shows "
        "anisotropy, hubness, alignment and uniformity: for example, why all cosines are near 0.9.",
    )
    shown: bool = controls.draw("", knob, key="geometry", bind="query-params")
    return shown


def pooling_control(*sides: layer_scores.LayerScores) -> str:
    """The pooling of the figures by layer: one that the grids of all sides have."""
    knob = replace(layer_geometry.GeometryOptions.knobs["pooling"], title="Pooling of the curves")
    chosen: str = controls.segments_of(knob, POOLING, _poolings(sides))
    return chosen


def pooling(*sides: layer_scores.LayerScores) -> str:
    """The same without the control, which another tab has."""
    chosen: str | None = st.session_state.get(POOLING)
    return chosen if chosen in _poolings(sides) else layer_geometry.GeometryOptions.pooling


def _poolings(sides: Sequence[layer_scores.LayerScores]) -> list[str]:
    return [one for one in sides[0].poolings if all(one in scores.poolings for scores in sides)]


def of_two(sides: Sides, findings: Findings, settings: Settings, stem: str) -> None:
    """The embedding geometry of A and B, once it is asked for, with what else is found of them."""
    if not geometry_toggle(2):
        return
    chosen = pooling_control(*(side.scores for side in sides))
    geometry = found(sides, chosen, settings)
    if geometry is not None:
        show(geometry, layer_differences(findings, chosen), stem)


def is_there(sides: Sides, pooling: str, settings: Settings) -> bool:
    """Whether the geometry is cached."""
    geometry: layer_geometry.LayerGeometry | None = jobs.known(key_of(sides, pooling, settings))
    return geometry is not None and all(
        geometry.geometry_of(place, side.reading) or jobs.known(geometry_key(side, settings))
        for place, side in enumerate(sides)
    )


def found(sides: Sides, pooling: str, settings: Settings) -> layer_geometry.LayerGeometry | None:
    """The geometry; None while it is being computed, with progress shown."""
    pairs = related_pairs(sides[0].pairs)
    if pairs is None:
        st.info(NO_PAIRS, icon=":material/block:")
        return None
    encoders, readings = [side.found for side in sides], [side.reading for side in sides]
    made: layer_geometry.LayerGeometry | None = jobs.result(
        key_of(sides, pooling, settings),
        f"Geometry of {' and '.join(one.name for one in encoders)}",
        lambda: layer_geometry.layer_geometry(encoders, pairs, pooling, readings, settings, loaded_encoders.encoder),
    )
    if made is None:
        return None
    known = []
    for place, side in enumerate(sides):  # layers are cached for every layer & pooling; others are computed separately
        geometry = made.geometry_of(place, side.reading) or jobs.result(
            geometry_key(side, settings),
            f"Geometry of {side.reading.title} of {side.found.name}",
            partial(
                layer_geometry.reading_geometry, side.found, pairs, side.reading, settings, loaded_encoders.encoder
            ),
        )
        if geometry is not None:
            known.append(geometry)
    if len(known) < len(sides):
        return None
    return replace(made, readings=tuple(readings), chosen=tuple(known))


def show(geometry: layer_geometry.LayerGeometry, differences: bootstrap.Interval | None, stem: str) -> None:
    """Every measure by layer, alignment by uniformity, and the drift."""
    st.caption(messages.plain(layer_geometry.definition(geometry)))
    for start in range(0, len(layer_geometry.MEASURES), 3):
        for column, measure in zip(
            st.columns(3, gap="small"), layer_geometry.MEASURES[start : start + 3], strict=False
        ):
            with column:
                st.markdown(f"**{measure.name[0].upper()}{measure.name[1:]}**", help=measure.meaning)
                downloads.draw(
                    drawn.measure_by_layer(geometry, measure),
                    config=downloads.config(measure.name.replace(" ", "-")),
                    alt=f"{measure.name} by layer. {measure.meaning} The table below has the numbers.",
                )
    if len(geometry.layers) > 1:
        left, right = st.columns(2, gap="medium")
        with right:
            _drift(geometry, differences)
    else:
        left = st.container()
    with left:
        _alignment(geometry)
    with st.expander("Geometry table"):
        rows, moved = layer_geometry.geometry_rows(geometry), layer_geometry.drift_rows(geometry, differences)
        columns = {
            measure.name: st.column_config.NumberColumn(format="%.3f", width="small", help=measure.meaning)
            for measure in layer_geometry.MEASURES
        }
        downloads.table(rows, columns=columns)
        downloads.rows(rows, f"{stem} geometry", "Geometry (CSV)")
        if moved:
            downloads.table(moved)
            downloads.rows(moved, f"{stem} drift", "Drift (CSV)")


def _drift(geometry: layer_geometry.LayerGeometry, differences: bootstrap.Interval | None) -> None:
    if geometry.alike:
        st.markdown("**Drift by layer**", help=layer_geometry.HOW_TO_READ)
        downloads.draw(
            drawn.drift_by_layer(geometry, differences),
            config=downloads.config("drift"),
            alt="CKA, shift and the score difference by layer. The table below has the numbers.",
        )
        st.caption(layer_geometry.HOW_TO_READ)
    if layer_geometry.not_comparable(geometry):
        st.info(layer_geometry.not_comparable(geometry), icon=":material/difference:")


def _alignment(geometry: layer_geometry.LayerGeometry) -> None:
    arrow = " The arrow points from A to B, at the chosen layers & poolings." * (len(geometry.layers) > 1)
    st.markdown(
        "**Alignment and uniformity**",
        help="Alignment: mean squared distance of positive pairs. Uniformity: how evenly all vectors spread. Lower is "
        f"better for both.{arrow}",
    )
    downloads.draw(
        drawn.alignment_by_uniformity(geometry),
        config=downloads.config("alignment-uniformity"),
        alt="Each layer by its uniformity and alignment. The table below has the numbers.",
    )


def alone(choice: sidebar_choice.Choice) -> None:
    """The embedding geometry of A, which needs no B."""
    if not geometry_toggle(1):
        return
    shown = sidebar_choice.scored(choice)
    if shown is not None:
        geometry = found((shown,), pooling_control(shown.scores), choice.settings)
        if geometry is not None:
            show(geometry, None, shown.found.name)


def key_of(sides: Sides, pooling: str, settings: Settings) -> str:
    """The key of the geometry of every layer; the chosen layers & poolings are no part of it."""
    return f"geometry {[side.found.digest for side in sides]} {sides[0].pairs.digest} {pooling} {settings}"


def geometry_key(side: sidebar_choice.ModelScores, settings: Settings) -> str:
    """The key of the geometry of a chosen layer & pooling."""
    return f"found {side.found.digest} {side.pairs.digest} {side.reading.title} {settings}"
