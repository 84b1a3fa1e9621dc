"""Grid of score differences B - A; differences that could be chance are hollow."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from explorer.drawing.scores.grid import CELL_HEIGHT, GAP, heights_of, laid_out, mark_missing
from explorer.drawing.style import ACCENT, DIFFERENCE_SCALE, QUIET
from explorer.encoding.read.readings import GRID_POOLINGS, OWN, Reading
from explorer.measuring.comparing.comparison import Comparison
from explorer.measuring.scores.bootstrap import Interval
from explorer.measuring.scores.missing_scores import NO_SCORE, why_missing
from explorer.measuring.scores.verdict_text import CI

_STILL: dict[str, Any] = {"showgrid": False, "zeroline": False, "fixedrange": True}


def difference_grid(
    comparison: Comparison,
    grid: Interval,
    own: Interval | None = None,
    widest: float | None = None,
    name: str = "B - A",
) -> go.Figure:
    """B - A in every cell; blue: B is better. A difference that could be chance is hollow.
    A cell without a difference says so in grey, and why in its hover text.

    If both declare a model default, its difference is above, as wide as the grid. Grids of one `widest`
    have one scale of colour; `name` is the label of a difference in hover text.

    The invisible points carry the index of the layer & pooling, as in the other grids.
    """
    heights, last = heights_of(comparison.rows), comparison.one.last
    widest = widest or _widest(grid, own)
    sure = np.where(grid.sure, grid.difference, np.nan)
    figure = go.Figure()
    top = heights[-1]
    for part in (slice(0, last + 1), slice(last + 1, None)):
        if len(heights[part]):
            figure.add_heatmap(
                x=list(range(len(GRID_POOLINGS))),
                y=heights[part],
                z=sure[part],
                **_colours(widest),
            )
    _add_frames(figure, grid, heights)
    mark_missing(figure, np.isnan(grid.difference), heights)
    _add_cells(figure, comparison, grid, heights, widest, name)
    if own is not None:
        top += 1 + GAP
        _add_own(figure, comparison, own, top, widest, name)
    if comparison.one_reading == comparison.other_reading:
        _add_chosen(figure, comparison, heights, None if own is None else top)
    figure.update_xaxes(tickvals=list(range(len(GRID_POOLINGS))), ticktext=list(GRID_POOLINGS), side="top", **_STILL)
    figure.update_yaxes(
        tickvals=[*heights, *([] if own is None else [top])],
        ticktext=[*(row.label for row in comparison.rows), *([] if own is None else ["default"])],
        range=[-0.5, top + 0.5],
        **_STILL,
    )
    height = 38 + CELL_HEIGHT * (len(comparison.rows) + (own is not None))
    laid_out(figure, height, hovermode="closest", hoverdistance=-1, showlegend=False)
    return figure.update_layout(margin_b=8)  # nothing is written below the cells


def _add_frames(figure: go.Figure, grid: Interval, heights: list[float]) -> None:
    """A thin frame around every difference that could be chance."""
    unsure = np.isfinite(grid.difference) & ~grid.sure
    line = {"color": QUIET, "width": 1}
    # all at once, since plotly checks all earlier shapes for each added one
    figure.update_layout(
        shapes=[
            {"type": "rect", "line": line, **_edges(int(column), heights[int(row)], 0.44)}
            for row, column in zip(*np.nonzero(unsure), strict=True)
        ]
    )


def _add_cells(
    figure: go.Figure, comparison: Comparison, grid: Interval, heights: list[float], widest: float, name: str
) -> None:
    """A point with the number on every cell."""
    columns = len(GRID_POOLINGS)
    every = [(row, column) for row in range(len(heights)) for column in range(columns)]
    for colour, inside in (
        (QUIET, [at for at in every if np.isnan(grid.difference[at])]),
        (None, [at for at in every if np.isfinite(grid.difference[at]) and not grid.sure[at]]),
        ("#000000", [at for at in every if grid.sure[at] and abs(grid.difference[at]) <= 0.5 * widest]),
        ("#ffffff", [at for at in every if grid.sure[at] and abs(grid.difference[at]) > 0.5 * widest]),
    ):
        figure.add_scatter(
            x=[column for _, column in inside],
            y=[heights[row] for row, _ in inside],
            mode="markers+text",
            marker={"symbol": "square", "size": CELL_HEIGHT - 4, "opacity": 0},
            customdata=[row * columns + column for row, column in inside],
            text=[NO_SCORE if np.isnan(grid.difference[at]) else f"{grid.difference[at]:+.2f}" for at in inside],
            textfont={"color": colour} if colour else {},
            hovertext=[
                _told(comparison, Reading(comparison.rows[row], GRID_POOLINGS[column]), grid, (row, column), name)
                for row, column in inside
            ],
            hovertemplate="%{hovertext}<extra></extra>",
        )


def _add_own(figure: go.Figure, comparison: Comparison, own: Interval, top: float, widest: float, name: str) -> None:
    """The model defaults: one cell as wide as the grid; its index follows the last cell."""
    columns = len(GRID_POOLINGS)
    sure, value = bool(own.sure), float(own.difference)
    if sure:
        figure.add_heatmap(x=[-0.5, columns - 0.5], y=[top - 0.5, top + 0.5], z=[[value]], **_colours(widest))
    elif np.isfinite(value):
        edges = {"x0": -0.44, "x1": columns - 0.56, "y0": top - 0.44, "y1": top + 0.44}
        figure.add_shape(type="rect", line={"color": QUIET, "width": 1}, **edges)
    dark = abs(value) > 0.5 * widest
    figure.add_scatter(
        x=list(range(columns)),
        y=[top] * columns,
        mode="markers+text",
        marker={"symbol": "square", "size": CELL_HEIGHT - 4, "opacity": 0},
        customdata=[len(comparison.rows) * columns] * columns,
        text=[f"{value:+.2f}" if column == columns // 2 and np.isfinite(value) else "" for column in range(columns)],
        textfont={"color": "#ffffff" if dark else "#000000"} if sure else {},
        hovertext=[_told(comparison, OWN, own, (), name)] * columns,
        hovertemplate="%{hovertext}<extra></extra>",
    )


def _add_chosen(figure: go.Figure, comparison: Comparison, heights: list[float], own: float | None) -> None:
    """A frame around the chosen layer & pooling, if A and B use the same one."""
    line = {"color": ACCENT, "width": 4}
    reading = comparison.one_reading
    if reading == OWN and own is not None:
        edges = {"x0": -0.5, "x1": len(GRID_POOLINGS) - 0.5, "y0": own - 0.48, "y1": own + 0.48}
        figure.add_shape(type="rect", line=line, **edges)
    elif reading.row in comparison.rows:
        row, column = comparison.one.place(reading)
        figure.add_shape(type="rect", line=line, **_edges(column, heights[row], 0.48))


def _colours(widest: float) -> dict[str, Any]:
    return {
        "zmin": -widest,
        "zmax": widest,
        "colorscale": DIFFERENCE_SCALE,
        "showscale": False,
        "xgap": 2,
        "ygap": 2,
        "hoverinfo": "skip",
    }


def _widest(*several: Interval | None) -> float:
    every = np.concatenate([np.abs(np.ravel(one.difference)) for one in several if one is not None])
    return float(np.nanmax(every)) if np.isfinite(every).any() else 1.0


def _told(comparison: Comparison, reading: Reading, interval: Interval, at: tuple[int, ...], name: str) -> str:
    title = reading.title
    for scores in (comparison.one, comparison.other):
        why = why_missing(scores, reading)
        if why:
            return f"<b>{title}</b><br>{NO_SCORE}:<br>" + why.replace(": ", ":<br>")
    if np.isnan(interval.difference[at]):
        return f"<b>{title}</b><br>no correlation on one side"
    verdict = "significant" if interval.sure[at] else "could be chance"
    return (
        f"<b>{title}</b><br>{name}: {interval.difference[at]:+.2f}<br>{CI}: "
        f"{interval.low[at]:+.2f} to {interval.high[at]:+.2f}<br>{verdict}"
    )


def _edges(column: int, height: float, half: float) -> dict[str, float]:
    return {"x0": column - half, "x1": column + half, "y0": height - half, "y1": height + half}
