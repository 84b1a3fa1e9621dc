"""What did each reading gain or lose from one encoder to another? A grid of differences, the unsure ones hollow."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from explorer.drawing.grid import CELL_HEIGHT, heights_of, laid_out
from explorer.drawing.style import ACCENT, DIFFERENCE_SCALE, QUIET, SIDES
from explorer.encoding.readings import GRID_POOLINGS, Reading
from explorer.measuring.bootstrap import LEVEL, Interval
from explorer.measuring.comparing import Comparison

_STILL: dict[str, Any] = {"showgrid": False, "zeroline": False, "fixedrange": True}


def difference_grid(comparison: Comparison, grid: Interval) -> go.Figure:
    """B less A in every cell; blue is B's gain. A difference within what the draw of pairs can bring about is hollow.

    The invisible points carry the place of the reading, as those of the other grids do.
    """
    heights, last = heights_of(comparison.rows), comparison.one.last
    widest = _widest(grid)
    sure = np.where(grid.sure, grid.difference, np.nan)
    figure = go.Figure()
    for part in (slice(0, last + 1), slice(last + 1, None)):
        if len(heights[part]):
            figure.add_heatmap(
                x=list(range(len(GRID_POOLINGS))),
                y=heights[part],
                z=sure[part],
                zmin=-widest,
                zmax=widest,
                colorscale=DIFFERENCE_SCALE,
                showscale=False,
                xgap=2,
                ygap=2,
                hoverinfo="skip",
            )
    _add_frames(figure, grid, heights)
    _add_cells(figure, comparison, grid, heights)
    if comparison.one_reading == comparison.other_reading and comparison.one_reading.row in comparison.rows:
        row, column = comparison.one.place(comparison.one_reading)
        figure.add_shape(type="rect", line={"color": ACCENT, "width": 4}, **_edges(column, heights[row], 0.48))
    figure.update_xaxes(tickvals=list(range(len(GRID_POOLINGS))), ticktext=list(GRID_POOLINGS), side="top", **_STILL)
    figure.update_yaxes(
        tickvals=heights,
        ticktext=[row.label for row in comparison.rows],
        range=[-0.5, heights[-1] + 0.5],
        **_STILL,
    )
    height = 70 + CELL_HEIGHT * len(comparison.rows)
    return laid_out(figure, height, hovermode="closest", hoverdistance=-1, showlegend=False)


def _add_frames(figure: go.Figure, grid: Interval, heights: list[float]) -> None:
    """A thin frame round every difference that is not sure."""
    unsure = np.isfinite(grid.difference) & ~grid.sure
    for row, column in zip(*np.nonzero(unsure), strict=True):
        line = {"color": QUIET, "width": 1}
        figure.add_shape(type="rect", line=line, **_edges(int(column), heights[int(row)], 0.44))


def _add_cells(figure: go.Figure, comparison: Comparison, grid: Interval, heights: list[float]) -> None:
    """A point on every cell, with its number: in the page's own colour, but on a filled cell."""
    columns = len(GRID_POOLINGS)
    every = [(row, column) for row in range(len(heights)) for column in range(columns)]
    widest = _widest(grid)
    for colour, inside in (
        (None, [at for at in every if not grid.sure[at]]),
        ("#000000", [at for at in every if grid.sure[at] and abs(grid.difference[at]) <= 0.5 * widest]),
        ("#ffffff", [at for at in every if grid.sure[at] and abs(grid.difference[at]) > 0.5 * widest]),
    ):
        figure.add_scatter(
            x=[column for _, column in inside],
            y=[heights[row] for row, _ in inside],
            mode="markers+text",
            marker={"symbol": "square", "size": CELL_HEIGHT - 4, "opacity": 0},
            customdata=[row * columns + column for row, column in inside],
            text=["" if np.isnan(grid.difference[at]) else f"{grid.difference[at]:+.2f}" for at in inside],
            textfont={"color": colour} if colour else {},
            hovertext=[
                _told(Reading(comparison.rows[row], GRID_POOLINGS[column]), grid, (row, column))
                for row, column in inside
            ],
            hovertemplate="%{hovertext}<extra></extra>",
        )


def _widest(grid: Interval) -> float:
    return float(np.nanmax(np.abs(grid.difference))) if np.isfinite(grid.difference).any() else 1.0


def _told(reading: Reading, grid: Interval, at: tuple[int, int]) -> str:
    if np.isnan(grid.difference[at]):
        return f"<b>{reading.title}</b><br>no correlation on one side"
    verdict = "beyond" if grid.sure[at] else "within"
    return (
        f"<b>{reading.title}</b><br>B - A: {grid.difference[at]:+.2f}<br>{LEVEL:.0%} of resamples: "
        f"{grid.low[at]:+.2f} to {grid.high[at]:+.2f}<br>{verdict} what the draw of pairs can bring about"
    )


def _edges(column: int, height: float, half: float) -> dict[str, float]:
    return {"x0": column - half, "x1": column + half, "y0": height - half, "y1": height + half}


def compared_by_layer(
    comparison: Comparison, pooling: str, metric: str, aggregate: str, grid: Interval | None
) -> go.Figure:
    """The score of both by layer under one pooling, and the interval of the difference below."""
    from plotly.subplots import make_subplots

    column = GRID_POOLINGS.index(pooling)
    figure = make_subplots(rows=1 if grid is None else 2, shared_xaxes=True, vertical_spacing=0.12)
    for name, scores, colour in (("A", comparison.one, SIDES[0]), ("B", comparison.other, SIDES[1])):
        figure.add_scatter(
            x=list(range(scores.last + 1)),
            y=scores.table(metric, aggregate)[: scores.last + 1, column],
            mode="lines+markers",
            name=name,
            line={"color": colour, "width": 2.5},
            marker={"size": 8},
            hovertemplate=f"{name}, layer %{{x}}: %{{y:.2f}}<extra></extra>",
            row=1,
            col=1,
        )
    if grid is not None:
        _add_intervals(figure, grid, column, comparison.one.last + 1)
    return laid_out(
        figure, 460, hovermode="closest", legend={"orientation": "h", "y": 1.04, "yanchor": "bottom", "x": 0}
    )


def _add_intervals(figure: go.Figure, grid: Interval, column: int, layers: int) -> None:
    middle, low, high = (side[:layers, column] for side in (grid.difference, grid.low, grid.high))
    figure.add_scatter(
        x=list(range(layers)),
        y=middle,
        mode="markers",
        marker={"size": 8, "color": ACCENT},
        error_y={
            "type": "data",
            "symmetric": False,
            "array": high - middle,
            "arrayminus": middle - low,
            "color": ACCENT,
        },
        customdata=np.stack([low, high], axis=1),
        hovertemplate="layer %{x}: %{y:+.2f}<extra></extra>",
        showlegend=False,
        row=2,
        col=1,
    )
    figure.add_hline(y=0, line={"color": QUIET, "width": 1.5}, row=2, col=1)
    figure.update_yaxes(title="B - A", zeroline=False, row=2, col=1)
    figure.update_xaxes(title="layer", zeroline=False, row=2, col=1)


def cosines_by_gold(comparison: Comparison, bins: int = 5) -> go.Figure:
    """A box of cosines for every fifth of the scale, of A beside B."""
    gold = comparison.one.gold
    edges = np.linspace(gold.min(), gold.max(), bins + 1)
    inside = np.clip(np.digitize(gold, edges) - 1, 0, bins - 1)
    labels = [f"{low:.1f} to {high:.1f}" for low, high in pairwise(edges)]
    figure = go.Figure()
    sides: tuple[tuple[str, NDArray[np.float32]], ...] = (
        ("A", comparison.one.cosines_of(comparison.one_reading)),
        ("B", comparison.other.cosines_of(comparison.other_reading)),
    )
    for (name, cosines), colour in zip(sides, SIDES, strict=True):
        figure.add_box(
            x=[labels[place] for place in inside],
            y=cosines,
            name=name,
            boxpoints=False,
            line={"color": colour, "width": 2},
            fillcolor="rgba(0,0,0,0)",
        )
    figure.update_xaxes(title="score given by people", categoryorder="array", categoryarray=labels)
    figure.update_yaxes(title="cosine", zeroline=False)
    return laid_out(figure, 420, boxmode="group", legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0})
