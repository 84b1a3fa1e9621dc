"""Figures of embedding geometry and drift by layer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import plotly.graph_objects as go

from explorer.drawing.style import ACCENT, QUIET, SIDES, laid_out
from explorer.measuring.geometry.geometry_tables import Measure
from explorer.measuring.geometry.layer_geometry import LayerGeometry, Side
from explorer.measuring.scores.bootstrap import Interval

_LEGEND = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0}


def measure_by_layer(found: LayerGeometry, measure: Measure) -> go.Figure:
    """One measure by layer, for every side."""
    figure = go.Figure()
    for name, side, colour in _sides(found):
        figure.add_scatter(
            x=list(range(len(side.layers))),
            y=[measure.of(cloud) for cloud in side.layers],
            mode="lines+markers",
            name=name,
            line={"color": colour, "width": 2.5},
            marker={"size": 7},
            hovertemplate=f"{name}, layer %{{x}}: %{{y:.3f}}<extra></extra>",
        )
    figure.update_xaxes(title="layer", zeroline=False, **_whole(found))
    figure.update_yaxes(zeroline=False)
    return laid_out(figure, 240, hovermode="closest", legend=_LEGEND)


def alignment_by_uniformity(found: LayerGeometry) -> go.Figure:
    """Layers by uniformity and alignment, with an arrow from A to B at the chosen layer & pooling."""
    figure = go.Figure()
    for name, side, colour in _sides(found):
        figure.add_scatter(
            x=[cloud.geometry.uniformity for cloud in side.layers],
            y=[cloud.alignment for cloud in side.layers],
            mode="lines+markers+text",
            name=name,
            text=[str(layer) for layer in range(len(side.layers))],
            textposition="top center" if name == "A" else "bottom center",
            textfont={"color": colour},
            line={"color": colour, "width": 1.5},
            marker={"size": 8},
            hovertemplate=f"{name}, {found.pooling} of layer %{{text}}<br>uniformity %{{x:.3f}}<br>"
            "alignment %{y:.3f}<extra></extra>",
        )
        figure.add_scatter(
            x=[side.chosen.geometry.uniformity],
            y=[side.chosen.alignment],
            mode="markers",
            name=f"{name}: {side.reading.title}",
            marker={"symbol": "circle-open", "size": 15, "color": colour, "line": {"width": 3}},
            hovertemplate=f"{name}, {side.reading.title}<br>uniformity %{{x:.3f}}<br>alignment %{{y:.3f}}"
            "<extra></extra>",
        )
    _add_arrow(figure, found)
    figure.update_xaxes(title="uniformity (lower is better)", zeroline=False)
    figure.update_yaxes(title="alignment (lower is better)", zeroline=False)
    return laid_out(figure, 460, hovermode="closest", legend=_LEGEND)


def _add_arrow(figure: go.Figure, found: LayerGeometry) -> None:
    if len(found.sides) < 2:
        return
    start, end = ((side.chosen.geometry.uniformity, side.chosen.alignment) for side in found.sides)
    if not np.isfinite([*start, *end]).all() or start == end:
        return
    figure.add_annotation(
        x=end[0],
        y=end[1],
        ax=start[0],
        ay=start[1],
        axref="x",
        ayref="y",
        showarrow=True,
        text="",
        arrowhead=2,
        arrowsize=1.2,
        arrowwidth=2.5,
        arrowcolor=ACCENT,
        standoff=9,
        startstandoff=9,
    )


def drift_by_layer(found: LayerGeometry, differences: Interval | None) -> go.Figure:
    """CKA, shift and score difference of each layer, in three rows."""
    from plotly.subplots import make_subplots

    panels = [("CKA", found.alike)] + [("shift", found.shift)] * found.same_width
    rows = len(panels) + (differences is not None)
    layers = list(range(len(found.alike)))
    figure = make_subplots(rows=rows, shared_xaxes=True, vertical_spacing=0.07)
    for row, (name, values) in enumerate(panels, start=1):
        figure.add_scatter(
            x=layers,
            y=values,
            mode="lines+markers",
            line={"color": ACCENT, "width": 2.5},
            marker={"size": 8},
            hovertemplate=f"layer %{{x}}: {name} %{{y:.3f}}<extra></extra>",
            row=row,
            col=1,
        )
        figure.update_yaxes(title=name, zeroline=False, row=row, col=1)
    if differences is not None:
        _add_differences(figure, differences, layers, rows)
    figure.update_xaxes(zeroline=False, **_whole(found))
    figure.update_xaxes(title="layer", row=rows, col=1)
    return laid_out(figure, 60 + 150 * rows, hovermode="closest", showlegend=False)


def _add_differences(figure: go.Figure, differences: Interval, layers: list[int], row: int) -> None:
    middle, low, high = differences.difference, differences.low, differences.high
    bars = {"type": "data", "symmetric": False, "array": high - middle, "arrayminus": middle - low, "color": ACCENT}
    figure.add_scatter(
        x=layers,
        y=middle,
        mode="markers",
        marker={"size": 8, "color": ACCENT},
        error_y=bars,
        hovertemplate="layer %{x}: B - A %{y:+.2f}<extra></extra>",
        row=row,
        col=1,
    )
    figure.add_hline(y=0, line={"color": QUIET, "width": 1.5}, row=row, col=1)
    figure.update_yaxes(title="B - A", zeroline=False, row=row, col=1)


def _sides(found: LayerGeometry) -> Iterator[tuple[str, Side, str]]:
    return zip("AB", found.sides, SIDES, strict=False)


def _whole(found: LayerGeometry) -> dict[str, Any]:
    """Ticks at whole layers only."""
    most = max(len(side.layers) for side in found.sides)
    return {"tick0": 0, "dtick": 1 if most <= 13 else 2 if most <= 25 else 4}
