"""Grids of layers & poolings: the scores of one model, and how cells are drawn and answer hover and clicks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from explorer.drawing.style import ACCENT, GRID_SCALE, QUIET, Draft, hover_text, text_colours
from explorer.encoding.read.pooling import OWN, Reading, Row, cell_of, pair_name
from explorer.measuring.scores.layer_scores import NO_SCORE, LayerScores, why_missing
from explorer.measuring.scores.metrics import AGGREGATES

Bools = NDArray[np.bool_]
Span = tuple[float, float]
# the lowest and the highest number of a grid, and the colours between them
ColourScale = tuple[float, float, str | Sequence[tuple[float, str]]]

# gap between layers and pairs of layers
GAP = 0.4
CELL_HEIGHT = 26
_STILL: dict[str, Any] = {"showgrid": False, "zeroline": False, "fixedrange": True}
_THIN: dict[str, Any] = {"type": "rect", "line": {"color": QUIET, "width": 1}}
_MISSING: dict[str, Any] = {
    "type": "rect",
    "layer": "below",
    "line": {"color": QUIET, "width": 1, "dash": "dot"},
    "fillcolor": "rgba(138, 143, 152, 0.12)",
}


def layer_by_pooling(
    scores: LayerScores,
    metric: str,
    aggregate: str,
    chosen: Reading | None,
    span: Span | None = None,
    short: bool = False,
) -> go.Figure:
    """A cell for every layer & pooling, and one for the model default.

    Two grids with one `span` have one scale of colour; `short` omits the names of pairs of layers. A cell without a
    score says so in grey, and why in its hover text.
    """
    table = scores.table(metric, aggregate)
    scale: ColourScale = (*(span or span_of(scores, metric=metric, aggregate=aggregate)), GRID_SCALE)
    own = scores.own_score(metric, aggregate)
    of_own = None
    if own is not None:
        why = why_missing(scores, OWN, metric, aggregate)
        title = f"{scores.own_title}, {why}" if why else scores.own_title
        of_own = _cells(np.array([[own]]), [f"<b>model default</b><br>{hover_text(title)}"], scale)
    cells = _cells(table, [note for row in notes(scores) for note in row], scale)
    labels = [row.label if short else row_label(row, scores.last) for row in scores.rows]
    return cell_grid(scores.rows, scores.poolings, labels, cells, of_own, scale, chosen)


def _cells(table: NDArray[np.float64], notes: list[str], scale: ColourScale) -> Cells:
    missing = np.isnan(table)
    return Cells(
        heat=table,
        texts=[_number(score) for score in table.flat],
        text_colours=[
            None if is_missing else colour
            for is_missing, colour in zip(missing.flat, text_colours(table, *scale), strict=True)
        ],
        notes=notes,
        missing=missing,
        framed=np.zeros_like(missing),
    )


def row_label(row: Row, last: int) -> str:
    """The layers of a row; of two layers, also what a pair of them is called."""
    return row.label if len(row.layers) == 1 else f"{pair_name(row, last)} ({row.label})"


def span_of(*several: LayerScores, metric: str, aggregate: str) -> Span:
    """The lowest and the highest score of one or more grids."""
    known = [scores.table(metric, aggregate).ravel() for scores in several]
    known += [np.array([scores.own_score(metric, aggregate)], dtype=np.float64) for scores in several]
    every = np.concatenate(known)
    return (0.0, 100.0) if np.isnan(every).all() else (float(np.nanmin(every)), float(np.nanmax(every)))


def _number(score: float) -> str:
    return NO_SCORE if np.isnan(score) else f"{score:.2f}"


def notes(scores: LayerScores) -> list[list[str]]:
    """Hover text of each layer & pooling: every metric and aggregation."""
    aggregates = AGGREGATES if scores.has_parts else AGGREGATES[:1]
    tables = {(metric, one): scores.table(metric, one) for metric in scores.metrics for one in aggregates}
    notes: list[list[str]] = []
    for place, row in enumerate(scores.rows):
        notes.append([])
        for column, pooling in enumerate(scores.poolings):
            reading = Reading(row, pooling)
            lines = [f"<b>{reading.title}</b>"]
            if len(row.layers) == 2:
                lines.append(pair_name(row, scores.last))
            whole = why_missing(scores, reading)
            if whole:
                lines.append(f"{NO_SCORE}: {whole}".replace(": ", ":<br>"))
            else:
                for (metric, aggregate), table in tables.items():
                    joined = f" ({aggregate})" if scores.has_parts else ""
                    lines.append(f"{metric}{joined}: {_number(table[place, column])}")
                reasons = (why_missing(scores, reading, *one) for one in tables)
                lines += [hover_text(why) for why in dict.fromkeys(reasons) if why]
            notes[-1].append("<br>".join(lines))
    return notes


@dataclass(frozen=True, eq=False)
class Cells:
    """What is written on cells, row by row: those of the grid (row, pooling), or the one of the model default."""

    heat: NDArray[np.float64]  # where it is finite, the cell has a colour
    texts: Sequence[str]
    text_colours: Sequence[str | None]  # None: as the text of the page
    notes: Sequence[str]  # shown on hover
    missing: Bools  # grey, with a dotted frame
    framed: Bools  # with a thin frame


def cell_grid(
    rows: tuple[Row, ...],
    poolings: tuple[str, ...],
    labels: Sequence[str],
    cells: Cells,
    own: Cells | None,
    scale: ColourScale,
    chosen: Reading | None,
) -> go.Figure:
    """Layer 0 at the bottom, pairs of layers above, the model default on top, as wide as the grid.

    A heatmap has no click events, so every cell has an invisible point with its number; its customdata is the index of
    the layer & pooling, and that of the model default follows the last cell.
    """
    heights, draft, columns = heights_of(rows), Draft(), len(poolings)
    top = heights[-1] + (0 if own is None else 1 + GAP)
    layers = sum(len(row.layers) == 1 for row in rows)
    for part in (slice(0, layers), slice(layers, None)):
        if len(heights[part]):
            _add_heat(draft, list(range(columns)), heights[part], cells.heat[part], scale)
    _add_points(draft, cells, [(x, y) for y in heights for x in range(columns)], list(range(len(cells.texts))))
    if own is not None:
        if np.isfinite(own.heat).any():
            _add_heat(draft, [-0.5, columns - 0.5], [top - 0.5, top + 0.5], own.heat, scale)
        _add_points(draft, _widened(own, columns), [(x, top) for x in range(columns)], [len(cells.texts)] * columns)
    for frame in _frames(cells, own, heights, top, _place(rows, poolings, chosen, own), columns):
        draft.shape(**frame)
    draft.x_axes(tickvals=list(range(columns)), ticktext=list(poolings), side="top", **_STILL)
    draft.y_axes(
        tickvals=[*heights, *([] if own is None else [top])],
        ticktext=[*labels, *([] if own is None else ["default"])],
        range=[-0.5, top + 0.5],
        **_STILL,
    )
    return draft.figure(
        38 + CELL_HEIGHT * (len(rows) + (own is not None)),
        margin={"b": 8},  # nothing is written below the cells
        hoverdistance=-1,  # unlimited, so that the whole of a wide cell responds
        showlegend=False,
    )


def heights_of(rows: tuple[Row, ...]) -> list[float]:
    """The position of each row on the layer axis: layers are at their numbers, pairs after a gap."""
    return [place + (GAP if len(row.layers) == 2 else 0.0) for place, row in enumerate(rows)]


def _add_heat(
    draft: Draft, x: Sequence[float], y: Sequence[float], heat: NDArray[np.float64], scale: ColourScale
) -> None:
    """The colours of cells; hover and clicks are answered by points above them."""
    low, high, colours = scale
    draft.add(
        "heatmap",
        x=x,
        y=y,
        z=heat,
        zmin=low,
        zmax=high,
        colorscale=colours,
        showscale=False,
        xgap=2,
        ygap=2,
        hoverinfo="skip",
    )


def _add_points(draft: Draft, cells: Cells, places: Sequence[tuple[float, float]], indices: Sequence[int]) -> None:
    """A point with the text on every cell; those in the colour of the page are a trace of their own."""
    of_the_page = [colour is None for colour in cells.text_colours]
    for themed in (False, True):
        inside = [at for at, is_themed in enumerate(of_the_page) if is_themed == themed]
        if inside:
            draft.add(
                "scatter",
                x=[places[at][0] for at in inside],
                y=[places[at][1] for at in inside],
                mode="markers+text",
                marker={"symbol": "square", "size": CELL_HEIGHT - 4, "opacity": 0},
                customdata=[indices[at] for at in inside],
                text=[cells.texts[at] for at in inside],
                textfont={} if themed else {"color": [cells.text_colours[at] for at in inside]},
                hovertext=[cells.notes[at] for at in inside],
                hovertemplate="%{hovertext}<extra></extra>",
            )


def _widened(own: Cells, columns: int) -> Cells:
    """The one cell as points across the grid, with its text in the middle."""
    texts = ["" if column != columns // 2 else own.texts[0] for column in range(columns)]
    return Cells(own.heat, texts, [*own.text_colours] * columns, [*own.notes] * columns, own.missing, own.framed)


def _place(
    rows: tuple[Row, ...], poolings: tuple[str, ...], chosen: Reading | None, own: Cells | None
) -> tuple[int, int] | None:
    """The cell (row, column) of the chosen layer & pooling, in the row above all others if it is the model default."""
    if chosen is None or (chosen == OWN and own is None):
        return None
    if chosen == OWN:
        return len(rows), 0
    return cell_of(chosen, rows, poolings)


def _frames(
    cells: Cells, own: Cells | None, heights: list[float], top: float, chosen: tuple[int, int] | None, columns: int
) -> tuple[dict[str, Any], ...]:
    """The frames of cells that have one, and above them that of the chosen cell."""
    frames = []
    for style, at, of_own in (
        (_THIN, cells.framed, own is not None and own.framed.any()),
        (_MISSING, cells.missing, own is not None and own.missing.any()),
    ):
        frames += [style | _edges(column, heights[row], 0.44) for row, column in np.argwhere(at).tolist()]
        if of_own:
            frames.append(style | _edges(0, top, 0.44, columns - 1))
    if chosen is not None:
        row, column = chosen
        line = {"type": "rect", "line": {"color": ACCENT, "width": 4}}
        of_grid = row < len(heights)
        frames.append(line | (_edges(column, heights[row], 0.48) if of_grid else _edges(0, top, 0.48, columns - 1)))
    return tuple(frames)


def _edges(column: int, height: float, half: float, wider: int = 0) -> dict[str, float]:
    return {"x0": column - half, "x1": column + wider + half, "y0": height - half, "y1": height + half}
