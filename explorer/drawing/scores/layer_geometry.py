"""Figures of embedding geometry and drift by layer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import plotly.graph_objects as go

from explorer.drawing.parts.draft import Draft
from explorer.drawing.parts.style import ACCENT, QUIET, SIDES
from explorer.measuring.geometry.geometry_tables import Measure
from explorer.measuring.geometry.layer_geometry import LayerGeometry, Side
from explorer.measuring.scores.bootstrap import Interval


def measure_by_layer(found: LayerGeometry, measure: Measure) -> go.Figure:
    """One measure by layer, for every side."""
    draft = Draft()
    for name, side, colour in _sides(found):
        draft.add(
            "scatter",
            x=list(range(len(side.layers))),
            y=[measure.of(cloud) for cloud in side.layers],
            mode="lines+markers",
            name=name,
            line={"color": colour, "width": 2.5},
            marker={"size": 7},
            hovertemplate=f"{name}, layer %{{x}}: %{{y:.3f}}<extra></extra>",
        )
    draft.x_axes(title="layer", zeroline=False, **_whole(found))
    draft.y_axes(zeroline=False)
    return draft.figure(240)


def alignment_by_uniformity(found: LayerGeometry) -> go.Figure:
    """Layers by uniformity and alignment, with an arrow from A to B at the chosen layer & pooling."""
    draft = Draft()
    for name, side, colour in _sides(found):
        draft.add(
            "scatter",
            x=[cloud.geometry.uniformity for cloud in side.layers],
            y=[cloud.alignment for cloud in side.layers],
            mode="lines+markers+text",
            name=name,
            text=[str(layer) for layer in range(len(side.layers))],
            textposition="top center" if name == "A" else "bottom center",
            line={"color": colour, "width": 1.5},
            marker={"size": 8},
            hovertemplate=f"{name}, {found.pooling} of layer %{{text}}<br>uniformity %{{x:.3f}}<br>"
            "alignment %{y:.3f}<extra></extra>",
        )
        draft.add(
            "scatter",
            x=[side.chosen.geometry.uniformity],
            y=[side.chosen.alignment],
            mode="markers",
            name=f"{name}: {side.reading.title}",
            marker={"symbol": "circle-open", "size": 15, "color": colour, "line": {"width": 3}},
            hovertemplate=f"{name}, {side.reading.title}<br>uniformity %{{x:.3f}}<br>alignment %{{y:.3f}}"
            "<extra></extra>",
        )
    _add_arrow(draft, found)
    draft.x_axes(title="uniformity (lower is better)", zeroline=False)
    draft.y_axes(title="alignment (lower is better)", zeroline=False)
    return draft.figure(460)


def _add_arrow(draft: Draft, found: LayerGeometry) -> None:
    if len(found.sides) < 2:
        return
    start, end = ((side.chosen.geometry.uniformity, side.chosen.alignment) for side in found.sides)
    if not np.isfinite([*start, *end]).all() or start == end:
        return
    draft.note(
        "",
        x=end[0],
        y=end[1],
        ax=start[0],
        ay=start[1],
        axref="x",
        ayref="y",
        showarrow=True,
        arrowhead=2,
        arrowsize=1.2,
        arrowwidth=2.5,
        arrowcolor=ACCENT,
        standoff=9,
        startstandoff=9,
    )


def drift_by_layer(found: LayerGeometry, differences: Interval | None) -> go.Figure:
    """CKA, shift and score difference of each layer, in three rows."""
    panels = [("CKA", found.alike)] + [("shift", found.shift)] * found.same_width
    rows = len(panels) + (differences is not None)
    layers = list(range(len(found.alike)))
    draft = Draft(rows=rows, shared=True, down=0.07)
    for row, (name, values) in enumerate(panels, start=1):
        draft.add(
            "scatter",
            x=layers,
            y=values,
            mode="lines+markers",
            line={"color": ACCENT, "width": 2.5},
            marker={"size": 8},
            hovertemplate=f"layer %{{x}}: {name} %{{y:.3f}}<extra></extra>",
            row=row,
        )
        draft.y_axes(title=name, zeroline=False, row=row)
    if differences is not None:
        _add_differences(draft, differences, layers, rows)
    draft.x_axes(zeroline=False, **_whole(found))
    draft.x_axes(title="layer", row=rows)
    return draft.figure(60 + 150 * rows, showlegend=False)


def _add_differences(draft: Draft, differences: Interval, layers: list[int], row: int) -> None:
    middle, low, high = differences.difference, differences.low, differences.high
    bars = {"type": "data", "symmetric": False, "array": high - middle, "arrayminus": middle - low, "color": ACCENT}
    draft.add(
        "scatter",
        x=layers,
        y=middle,
        mode="markers",
        marker={"size": 8, "color": ACCENT},
        error_y=bars,
        hovertemplate="layer %{x}: B - A %{y:+.2f}<extra></extra>",
        row=row,
    )
    draft.line(y=0, color=QUIET, width=1.5, row=row)
    draft.y_axes(title="B - A", zeroline=False, row=row)


def _sides(found: LayerGeometry) -> Iterator[tuple[str, Side, str]]:
    return zip("AB", found.sides, SIDES, strict=False)


def _whole(found: LayerGeometry) -> dict[str, Any]:
    """Ticks at whole layers only."""
    most = max(len(side.layers) for side in found.sides)
    return {"tick0": 0, "dtick": 1 if most <= 13 else 2 if most <= 25 else 4}
