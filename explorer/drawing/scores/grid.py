"""Heatmap of the scores of every layer & pooling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from explorer.drawing.style import (
    ACCENT,
    GRID_SCALE,
    QUIET,
    hover_text,
    text_colours,
)
from explorer.encoding.read.readings import GRID_POOLINGS, OWN, Reading, Row, pair_name
from explorer.measuring.scores.layer_scores import AGGREGATES, METRICS, LayerScores
from explorer.measuring.scores.missing_scores import NO_SCORE, why_missing

Span = tuple[float, float]

# gap between layers and pairs of layers
GAP = 0.4
CELL_HEIGHT = 26


def layer_by_pooling(
    scores: LayerScores,
    metric: str,
    aggregate: str,
    chosen: Reading | None,
    span: Span | None = None,
    short: bool = False,
) -> go.Figure:
    """A cell for every layer & pooling: layer 0 at the bottom, pairs of layers above, the model default on top.

    Two grids with one `span` have one scale of colour; `short` omits the names of pairs of layers. A cell without a
    score says so in grey, and why in its hover text.

    A heatmap has no click events, so every cell has an invisible point with its number; its customdata is the index of
    the layer & pooling.
    """
    table = scores.table(metric, aggregate)
    heights = places(scores)
    own = scores.own_score(metric, aggregate)
    low, high = span or span_of(scores, metric=metric, aggregate=aggregate)
    figure = go.Figure()
    layers = scores.last + 1
    for part in (slice(0, layers), slice(layers, None)):
        if len(heights[part]):
            _add_heat(figure, list(range(len(GRID_POOLINGS))), heights[part], table[part], low, high)
    mark_missing(figure, np.isnan(table), heights)
    figure.add_trace(_cells(scores, table, heights, low, high))
    top = heights[-1]
    if own is not None:
        top += 1 + GAP
        why = why_missing(scores, OWN, metric, aggregate)
        told = f"{scores.own_title}, {why}" if why else scores.own_title
        _add_own(figure, own, told, table.size, top, low, high)
    if chosen is not None and (chosen != OWN or own is not None):
        figure.add_shape(type="rect", line={"color": ACCENT, "width": 4}, **_frame(scores, chosen, heights, top))
    figure.update_xaxes(tickvals=list(range(len(GRID_POOLINGS))), ticktext=list(GRID_POOLINGS), side="top", **_STILL)
    figure.update_yaxes(
        tickvals=[*heights, *([] if own is None else [top])],
        ticktext=[*(row.label if short else row_label(row, scores.last) for row in scores.rows), "default"],
        range=[-0.5, top + 0.5],
        **_STILL,
    )
    height = 38 + CELL_HEIGHT * (len(scores.rows) + (own is not None))
    # unlimited hover distance, so that the whole of a wide cell responds
    laid_out(figure, height, hovermode="closest", hoverdistance=-1, showlegend=False)
    return figure.update_layout(margin_b=8)  # nothing is written below the cells


def row_label(row: Row, last: int) -> str:
    """The label of a row."""
    return row.label if len(row.layers) == 1 else f"{pair_name(row, last)} ({row.label})"


_STILL: dict[str, Any] = {"showgrid": False, "zeroline": False, "fixedrange": True}


def places(scores: LayerScores) -> list[float]:
    """The position of each row on the layer axis."""
    return heights_of(scores.rows)


def heights_of(rows: tuple[Row, ...]) -> list[float]:
    """Layers are at their numbers, pairs after a gap."""
    return [place + (GAP if len(row.layers) == 2 else 0.0) for place, row in enumerate(rows)]


def span_of(*several: LayerScores, metric: str, aggregate: str) -> Span:
    """The lowest and the highest score of one or more grids."""
    known = [scores.table(metric, aggregate).ravel() for scores in several]
    known += [np.array([scores.own_score(metric, aggregate)], dtype=np.float64) for scores in several]
    every = np.concatenate(known)
    return (0.0, 100.0) if np.isnan(every).all() else (float(np.nanmin(every)), float(np.nanmax(every)))


def _frame(scores: LayerScores, chosen: Reading, heights: list[float], top: float) -> dict[str, float]:
    """The edges of a cell."""
    if chosen == OWN:
        left, right, height = -0.5, len(GRID_POOLINGS) - 0.5, top
    else:
        row, column = scores.place(chosen)
        left, right, height = column - 0.48, column + 0.48, heights[row]
    return {"x0": left, "x1": right, "y0": height - 0.48, "y1": height + 0.48}


def _add_heat(
    figure: go.Figure, x: Sequence[float], y: Sequence[float], table: NDArray[np.float64], low: float, high: float
) -> None:
    """The colours of cells; hover and clicks are answered by points above them."""
    figure.add_heatmap(
        x=x, y=y, z=table, zmin=low, zmax=high, colorscale=GRID_SCALE, showscale=False, xgap=2, ygap=2, hoverinfo="skip"
    )


def _add_own(figure: go.Figure, own: float, title: str, cells: int, top: float, low: float, high: float) -> None:
    """The model default: one cell as wide as the grid."""
    right = len(GRID_POOLINGS) - 0.5
    if np.isnan(own):
        figure.add_shape(**_MISSING, x0=-0.44, x1=right - 0.06, y0=top - 0.44, y1=top + 0.44)
    _add_heat(figure, [-0.5, right], [top - 0.5, top + 0.5], np.array([[own]]), low, high)
    columns = len(GRID_POOLINGS)
    figure.add_scatter(  # answers clicks, as the points on the cells do; its place is that behind the last cell
        x=list(range(columns)),
        y=[top] * columns,
        mode="markers+text",
        marker={"symbol": "square", "size": CELL_HEIGHT - 4, "opacity": 0},
        customdata=[cells] * columns,
        text=[_number(own) if column == columns // 2 else "" for column in range(columns)],
        textfont={"color": _text_colours(np.array([own]), low, high)[0]},
        hovertext=[f"<b>model default</b><br>{hover_text(title)}"] * columns,
        hovertemplate="%{hovertext}<extra></extra>",
    )


def _cells(
    scores: LayerScores, table: NDArray[np.float64], heights: list[float], low: float, high: float
) -> go.Scatter:
    columns = len(GRID_POOLINGS)
    return go.Scatter(
        x=[column for _ in scores.rows for column in range(columns)],
        y=[height for height in heights for _ in range(columns)],
        mode="markers+text",
        marker={"symbol": "square", "size": CELL_HEIGHT - 4, "opacity": 0},
        customdata=list(range(len(heights) * columns)),
        text=[_number(score) for score in table.flat],
        textfont={"color": _text_colours(table, low, high)},
        hovertext=[note for row in notes(scores) for note in row],
        hovertemplate="%{hovertext}<extra></extra>",
    )


_MISSING: dict[str, Any] = {
    "type": "rect",
    "layer": "below",
    "line": {"color": QUIET, "width": 1, "dash": "dot"},
    "fillcolor": "rgba(138, 143, 152, 0.12)",
}


def mark_missing(figure: go.Figure, missing: NDArray[np.bool_], heights: list[float]) -> None:
    """Add a grey, dotted frame around every cell (row, pooling) without a score."""
    # all at once and set, not updated: plotly checks all earlier shapes for each added one, and an update merges them
    figure.layout.shapes = (
        *figure.layout.shapes,
        *(
            {**_MISSING, "x0": at - 0.44, "x1": at + 0.44, "y0": heights[row] - 0.44, "y1": heights[row] + 0.44}
            for row, at in np.argwhere(missing).tolist()
        ),
    )


def _number(score: float) -> str:
    return NO_SCORE if np.isnan(score) else f"{score:.2f}"


def _text_colours(values: NDArray[np.float64], low: float, high: float) -> list[str]:
    """Grey where there is no score, else black or white."""
    colours = zip(values.ravel(), text_colours(values, low, high), strict=True)
    return [QUIET if np.isnan(value) else colour for value, colour in colours]


def notes(scores: LayerScores) -> list[list[str]]:
    """Hover text of each layer & pooling: every metric and aggregation."""
    ways = AGGREGATES if scores.has_parts else AGGREGATES[:1]
    tables = {(metric, way): scores.table(metric, way) for metric in METRICS for way in ways}
    notes: list[list[str]] = []
    for place, row in enumerate(scores.rows):
        notes.append([])
        for column, pooling in enumerate(GRID_POOLINGS):
            reading = Reading(row, pooling)
            lines = [f"<b>{reading.title}</b>"]
            if len(row.layers) == 2:
                lines.append(pair_name(row, scores.last))
            whole = why_missing(scores, reading)
            if whole:
                lines.append(f"{NO_SCORE}: {whole}".replace(": ", ":<br>"))
            else:
                for (metric, way), table in tables.items():
                    joined = f" ({way})" if scores.has_parts else ""
                    lines.append(f"{metric}{joined}: {_number(table[place, column])}")
                reasons = (why_missing(scores, reading, metric, way) for metric, way in tables)
                lines += [hover_text(why) for why in dict.fromkeys(reasons) if why]
            notes[-1].append("<br>".join(lines))
    return notes


def laid_out(figure: go.Figure, height: int, **layout: Any) -> go.Figure:
    """A figure of that height, with the margins of all."""
    return figure.update_layout(height=height, margin={"l": 0, "r": 8, "t": 30, "b": 40}, **layout)
