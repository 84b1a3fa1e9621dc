"""What do the scores of every layer under every pooling look like?"""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from explorer.drawing.style import (
    ACCENT,
    GRID_SCALE,
    POOLING_COLOURS,
    POOLING_SYMBOLS,
    QUIET,
    hover_text,
    text_colours,
)
from explorer.encoding.readings import GRID_POOLINGS, Reading, Row, pair_name
from explorer.measuring.scores import AGGREGATES, METRICS, LayerScores

# the pairs of layers stand a little apart from the layers
GAP = 0.4
CELL_HEIGHT = 30


def layer_by_pooling(scores: LayerScores, metric: str, aggregate: str, chosen: Reading | None) -> go.Figure:
    """The grid: a cell for every reading, layer 0 at the bottom, pairs of layers above, the model's own on top.

    A heatmap answers no clicks, so an invisible point stands on every cell and carries its number; its customdata
    is the place of the reading in reading order.
    """
    table = scores.table(metric, aggregate)
    heights = _places(scores)
    own = scores.own_score(metric, aggregate)
    low, high = _range(table if own is None else np.append(table, own))
    figure = go.Figure()
    layers = scores.last + 1
    for part in (slice(0, layers), slice(layers, None)):
        if len(heights[part]):
            figure.add_heatmap(
                x=list(range(len(GRID_POOLINGS))),
                y=heights[part],
                z=table[part],
                zmin=low,
                zmax=high,
                colorscale=GRID_SCALE,
                showscale=False,
                xgap=2,
                ygap=2,
                hoverinfo="skip",
            )
    figure.add_trace(_cells(scores, table, heights, low, high))
    top = heights[-1]
    if own is not None:
        top += 1 + GAP
        _add_own(figure, own, scores.own_title, top, low, high)
    if chosen is not None:
        row, column = scores.place(chosen)
        half = 0.48
        figure.add_shape(
            type="rect",
            x0=column - half,
            x1=column + half,
            y0=heights[row] - half,
            y1=heights[row] + half,
            line={"color": ACCENT, "width": 4},
        )
    figure.update_xaxes(tickvals=list(range(len(GRID_POOLINGS))), ticktext=list(GRID_POOLINGS), side="top", **_STILL)
    figure.update_yaxes(
        tickvals=[*heights, *([] if own is None else [top])],
        ticktext=[*(row_label(row, scores.last) for row in scores.rows), "own"],
        range=[-0.5, top + 0.5],
        **_STILL,
    )
    height = 70 + CELL_HEIGHT * (len(scores.rows) + (own is not None))
    # no limit to the hover distance: the whole of a wide cell answers, not its middle alone
    return _laid_out(figure, height, hovermode="closest", hoverdistance=-1, showlegend=False)


def score_by_layer(scores: LayerScores, metric: str, aggregate: str, chosen: Reading | None) -> go.Figure:
    """The figure of the papers: the score against the layer, a line a pooling; pairs of layers stand aside."""
    table = scores.table(metric, aggregate)
    places = _places(scores)
    layers = scores.last + 1
    notes = _notes(scores)
    figure = go.Figure()
    for column, pooling in enumerate(GRID_POOLINGS):
        for part, mode in ((slice(0, layers), "lines+markers"), (slice(layers, None), "markers")):
            figure.add_scatter(
                x=places[part],
                y=table[part, column],
                mode=mode,
                name=pooling,
                legendgroup=pooling,
                showlegend=part.start == 0,
                line={"color": POOLING_COLOURS[pooling], "width": 2.5},
                marker={"symbol": POOLING_SYMBOLS[pooling], "size": 9, "color": POOLING_COLOURS[pooling]},
                text=[notes[row][column] for row in range(len(scores.rows))][part],
                hovertemplate="%{text}<extra></extra>",
            )
    own = scores.own_score(metric, aggregate)
    if own is not None and not np.isnan(own):
        figure.add_hline(y=own, line={"color": QUIET, "dash": "dash", "width": 1.5})
        figure.add_annotation(
            x=0,
            xref="paper",
            xanchor="left",
            y=own,
            yanchor="bottom",
            showarrow=False,
            text=f"own reading {own:.2f}",
        )
    if chosen is not None:
        row, column = scores.place(chosen)
        figure.add_scatter(
            x=[places[row]],
            y=[table[row, column]],
            mode="markers",
            marker={"symbol": "circle-open", "size": 20, "color": ACCENT, "line": {"width": 3}},
            name="chosen",
            hoverinfo="skip",
        )
    if np.isnan(table).all():
        figure.add_annotation(text="nothing to correlate", x=0.5, y=0.5, xref="paper", yref="paper", showarrow=False)
    figure.update_xaxes(tickvals=places, ticktext=[row.label for row in scores.rows], title="layer", zeroline=False)
    figure.update_yaxes(title=f"{metric} × 100", zeroline=False)
    legend = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0}
    return _laid_out(figure, 70 + CELL_HEIGHT * len(scores.rows), hovermode="closest", legend=legend)


def row_label(row: Row, last: int) -> str:
    """A row as it stands beside the grid."""
    return row.label if len(row.layers) == 1 else f"{pair_name(row, last)} ({row.label})"


_STILL: dict[str, Any] = {"showgrid": False, "zeroline": False, "fixedrange": True}


def _places(scores: LayerScores) -> list[float]:
    """Where each row stands on the layer axis: a layer at its number, the pairs behind a gap."""
    return [place + (GAP if len(row.layers) == 2 else 0.0) for place, row in enumerate(scores.rows)]


def _range(table: NDArray[np.float64]) -> tuple[float, float]:
    if np.isnan(table).all():
        return 0.0, 100.0
    return float(np.nanmin(table)), float(np.nanmax(table))


def _add_own(figure: go.Figure, own: float, title: str, top: float, low: float, high: float) -> None:
    """The model's own reading, which is no pooling of a layer: one cell as wide as the grid."""
    right = len(GRID_POOLINGS) - 0.5
    figure.add_heatmap(
        x=[-0.5, right],
        y=[top - 0.5, top + 0.5],
        z=[[own]],
        zmin=low,
        zmax=high,
        colorscale=GRID_SCALE,
        showscale=False,
        xgap=2,
        ygap=2,
        hovertemplate=f"<b>own reading</b><br>{hover_text(title)}<extra></extra>",
    )
    figure.add_annotation(
        x=(right - 0.5) / 2,
        y=top,
        text="none" if np.isnan(own) else f"{own:.2f}",
        showarrow=False,
        font={"color": text_colours(np.array([own]), low, high)[0]},
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
        text=["" if np.isnan(score) else f"{score:.2f}" for score in table.flat],
        textfont={"color": text_colours(table, low, high)},
        hovertext=[note for row in _notes(scores) for note in row],
        hovertemplate="%{hovertext}<extra></extra>",
    )


def _notes(scores: LayerScores) -> list[list[str]]:
    """What hovering says of each reading: every metric, joined in every way that makes a difference."""
    ways = AGGREGATES if scores.has_parts else AGGREGATES[:1]
    tables = {(metric, way): scores.table(metric, way) for metric in METRICS for way in ways}
    notes: list[list[str]] = []
    for place, row in enumerate(scores.rows):
        notes.append([])
        for column, pooling in enumerate(GRID_POOLINGS):
            lines = [f"<b>{Reading(row, pooling).title}</b>"]
            if len(row.layers) == 2:
                lines.append(pair_name(row, scores.last))
            if np.isnan(scores.table()[place, column]):
                lines.append("every pair has the same cosine here:<br>nothing to correlate")
            else:
                for (metric, way), table in tables.items():
                    score = table[place, column]
                    joined = f" ({way})" if scores.has_parts else ""
                    lines.append(f"{metric}{joined}: {'none' if np.isnan(score) else f'{score:.2f}'}")
            notes[-1].append("<br>".join(lines))
    return notes


def _laid_out(figure: go.Figure, height: int, **layout: Any) -> go.Figure:
    return figure.update_layout(height=height, margin={"l": 0, "r": 8, "t": 30, "b": 40}, **layout)
