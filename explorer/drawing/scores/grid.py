"""Grids of layers & poolings: the scores of one model, the differences of two, and how cells are drawn and clicked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from explorer import in_words
from explorer.drawing import style
from explorer.encoding.read.pooling import OWN, Reading, Row, cell_of, pair_name
from explorer.measuring.comparing.comparison import Comparison, shown_cells, shown_own
from explorer.measuring.scores.bootstrap import Interval
from explorer.measuring.scores.layer_scores import NO_SCORE, LayerScores, text_of, why_missing
from explorer.measuring.scores.metrics import AGGREGATES
from explorer.measuring.scores.verdict import CI

Bools = NDArray[np.bool_]
Span = tuple[float, float]
ColourScale = tuple[float, float, style.ColourStops]  # the lowest and the highest number, and the colours between them

GAP = 0.4  # between layers and pairs of layers
CELL_HEIGHT = 26


def layer_by_pooling(
    scores: LayerScores,
    metric: str,
    aggregate: str,
    chosen: Reading | None,
    span: Span | None = None,
    short: bool = False,
    most_height: int = 0,
) -> go.Figure:
    """A cell for every layer & pooling, and one for the model default.

    Two grids with one `span` have one scale of colour; `short` omits the names of pairs of layers. Cells of many layers
    are lower, so that the figure is at most `most_height` high. A cell without a score says so in grey, and why in its
    hover text.
    """
    table = scores.table(metric, aggregate)
    scale: ColourScale = (*(span or span_of(scores, metric=metric, aggregate=aggregate)), style.GRID_SCALE)
    own = scores.own_score(metric, aggregate)
    of_own = None
    if own is not None:
        why = why_missing(scores, OWN, metric, aggregate)
        title = f"{scores.own_title}, {why}" if why else scores.own_title
        of_own = Cells(np.array([[own]]), [f"<b>model default</b><br>{style.hover_text(title)}"], scale)
    cells = Cells(table, [note for row in notes(scores) for note in row], scale)
    labels = [
        row.label if short or len(row.layers) == 1 else f"{pair_name(row, scores.last)} ({row.label})"
        for row in scores.rows
    ]
    figure = _cell_grid(scores.rows, scores.poolings, labels, cells, of_own, chosen)
    return figure.update_layout(height=min(most_height, figure.layout.height)) if most_height else figure


def span_of(*several: LayerScores, metric: str, aggregate: str) -> Span:
    """The lowest and the highest score of one or more grids."""
    known = [scores.table(metric, aggregate).ravel() for scores in several]
    known += [np.array([scores.own_score(metric, aggregate)], dtype=np.float64) for scores in several]
    every = np.concatenate(known)
    return (0.0, 100.0) if np.isnan(every).all() else (float(np.nanmin(every)), float(np.nanmax(every)))


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
                    score = table[place, column]
                    lines.append(f"{metric}{joined}: {text_of(float(score))}")
                reasons = (why_missing(scores, reading, *one) for one in tables)
                lines += [style.hover_text(why) for why in dict.fromkeys(reasons) if why]
            notes[-1].append("<br>".join(lines))
    return notes


def difference_grid(
    comparison: Comparison,
    metric: str,
    aggregate: str,
    grid: Interval,
    own: Interval | None = None,
    widest: float | None = None,
    name: str = "B − A",
) -> go.Figure:
    """B − A in every cell; blue: B is better. A difference that could be chance is hollow.

    What is written is the difference of both scores as they are shown. A cell without a difference says so in grey, and
    why in its hover text. If both declare a model default, its difference is above. Grids of one `widest` have one
    scale of colour; `name` is the label of a difference in hover text. The chosen layer & pooling is framed if A and B
    use the same one.
    """
    if widest is None:
        known = np.abs(np.concatenate([np.ravel(one.difference) for one in (grid, own) if one is not None]))
        widest = float(np.nanmax(known)) if np.isfinite(known).any() else 1.0
    scale: ColourScale = (-widest, widest, style.DIFFERENCE_SCALE)
    rows, poolings = comparison.rows, comparison.one.poolings
    shown = shown_cells(comparison, metric, aggregate)
    notes = [
        _difference_note(comparison, Reading(row, pooling), shown[at, column], grid.at((at, column)), name)
        for at, row in enumerate(rows)
        for column, pooling in enumerate(poolings)
    ]
    of_own = None
    if own is not None:
        gap = shown_own(comparison, metric, aggregate)
        note = _difference_note(comparison, OWN, gap, own, name)
        of_own = Cells(
            np.reshape(own.difference, (1, 1)), [note], scale, np.reshape(own.sure, (1, 1)), [in_words.signed(gap)]
        )
    texts = [in_words.signed(gap) for gap in shown.ravel().tolist()]
    cells = Cells(grid.difference, notes, scale, grid.sure, texts)
    chosen = comparison.one_reading if comparison.one_reading == comparison.other_reading else None
    return _cell_grid(rows, poolings, [row.label for row in rows], cells, of_own, chosen)


def _difference_note(comparison: Comparison, reading: Reading, gap: float, interval: Interval, name: str) -> str:
    title = reading.title
    for scores in comparison.scores:
        why = why_missing(scores, reading)
        if why:
            return f"<b>{title}</b><br>{NO_SCORE}:<br>" + why.replace(": ", ":<br>")
    if np.isnan(interval.difference):
        return f"<b>{title}</b><br>no correlation on one side"
    found = f"<b>{title}</b><br>{name}: {in_words.signed(gap)}"
    if np.isnan(interval.low):
        return found
    verdict = "significant" if interval.sure else "could be chance"
    ends = in_words.ends(gap, float(interval.low), float(interval.high))
    return f"{found}<br>{CI}: {ends}<br>{verdict}"


@dataclass(frozen=True, eq=False)
class Cells:
    """The numbers of the grid (row, pooling), or the one of the model default (1, 1), and how they are written."""

    values: NDArray[np.float64]  # a missing one is grey, with a dotted frame
    notes: Sequence[str]  # shown on hover, row by row
    scale: ColourScale
    sure: Bools | None = None  # where False, the cell is hollow with a thin frame; None: all have a colour
    written: Sequence[str] = ()  # row by row, if not the numbers themselves

    @property
    def missing(self) -> Bools:
        """The cells without a number."""
        return np.isnan(self.values)

    @property
    def coloured(self) -> Bools:
        """The cells with a colour; the text of others has the colour of the page."""
        return ~self.missing if self.sure is None else self.sure

    @property
    def hollow(self) -> Bools:
        """The cells with a number and no colour."""
        return ~self.missing & ~self.coloured

    @property
    def texts(self) -> list[str]:
        """What is written on the cells."""
        values = self.values.ravel().tolist()
        texts = self.written or [in_words.number(value) for value in values]
        return [NO_SCORE if np.isnan(value) else text for value, text in zip(values, texts, strict=True)]


def _cell_grid(
    rows: tuple[Row, ...],
    poolings: tuple[str, ...],
    labels: Sequence[str],
    cells: Cells,
    own: Cells | None,
    chosen: Reading | None,
) -> go.Figure:
    """Layer 0 at the bottom, pairs of layers above, the model default on top, as wide as the grid.

    A heatmap has no click events, so every cell has an invisible point with its number; its customdata is the index of
    the layer & pooling, and that of the model default follows the last cell.
    """
    heights, draft, columns = heights_of(rows), style.Draft(), len(poolings)
    top = heights[-1] + (0 if own is None else 1 + GAP)
    layers = sum(len(row.layers) == 1 for row in rows)
    for part in (slice(0, layers), slice(layers, None)):
        _add_heat(draft, list(range(columns)), heights[part], cells, part)
    count = cells.values.size
    _add_points(draft, cells, cells.texts, [(x, y) for y in heights for x in range(columns)], list(range(count)))
    if own is not None:
        if own.coloured.any():
            _add_heat(draft, [-0.5, columns - 0.5], [top - 0.5, top + 0.5], own)
        texts = ["" if column != columns // 2 else own.texts[0] for column in range(columns)]  # one in the middle
        _add_points(draft, own, texts, [(x, top) for x in range(columns)], [count] * columns)
    _add_frames(draft, cells, own, heights, top)
    thick: dict[str, Any] = {"line": {"color": style.ACCENT, "width": 4}}
    if chosen == OWN and own is not None:
        _frame(draft, 0, top, 0.48, columns - 1, **thick)
    elif chosen is not None and chosen != OWN and (cell := cell_of(chosen, rows, poolings)):
        _frame(draft, cell[1], heights[cell[0]], 0.48, **thick)
    draft.x_axes(tickvals=list(range(columns)), ticktext=list(poolings), side="top", **style.STILL)
    if own is not None:
        heights, labels = [*heights, top], [*labels, "default"]
    draft.y_axes(tickvals=heights, ticktext=list(labels), range=[-0.5, top + 0.5], **style.STILL)
    height = 38 + CELL_HEIGHT * len(labels)
    # nothing is written below the cells; the distance of hover is unlimited, so that the whole of a wide cell responds
    return draft.figure(height, margin={"b": 8}, hoverdistance=-1, showlegend=False)


def heights_of(rows: tuple[Row, ...]) -> list[float]:
    """The position of each row on the layer axis: layers are at their numbers, pairs after a gap."""
    return [place + (GAP if len(row.layers) == 2 else 0.0) for place, row in enumerate(rows)]


def _add_heat(
    draft: style.Draft, x: Sequence[float], y: Sequence[float], cells: Cells, rows: slice = slice(None)
) -> None:
    """The colours of cells; hover and clicks are answered by points above them."""
    low, high, colours = cells.scale
    heat = np.where(cells.coloured, cells.values, np.nan)[rows]
    scale: dict[str, Any] = {"zmin": low, "zmax": high, "colorscale": colours, "showscale": False}
    if heat.size:
        draft.add("heatmap", x=x, y=y, z=heat, xgap=2, ygap=2, hoverinfo="skip", **scale)


def _add_points(
    draft: style.Draft,
    cells: Cells,
    texts: Sequence[str],
    places: Sequence[tuple[float, float]],
    indices: Sequence[int],
) -> None:
    """A point with the text on every cell; those in the colour of the page are a trace of their own."""
    colours, coloured = style.text_colours(cells.values, *cells.scale), cells.coloured.ravel()
    of_cell = [at % len(colours) for at in range(len(places))]  # the one cell of the model default has many points
    for themed in (False, True):
        inside = [at for at, cell in enumerate(of_cell) if coloured[cell] != themed]
        if inside:
            draft.points(
                x=[places[at][0] for at in inside],
                y=[places[at][1] for at in inside],
                mode="markers+text",
                marker={"symbol": "square", "size": CELL_HEIGHT - 4, "opacity": 0},
                customdata=[indices[at] for at in inside],
                text=[texts[at] for at in inside],
                textfont={} if themed else {"color": [colours[of_cell[at]] for at in inside]},
                hovertext=[cells.notes[of_cell[at]] for at in inside],
                hovertemplate="%{hovertext}<extra></extra>",
            )


def _add_frames(draft: style.Draft, cells: Cells, own: Cells | None, heights: list[float], top: float) -> None:
    thin: dict[str, Any] = {"line": {"color": style.QUIET, "width": 1}}
    grey = {"line": {"color": style.QUIET, "width": 1, "dash": "dot"}, "fillcolor": "rgba(138, 143, 152, 0.12)"}
    for at, of_own, frame in (
        (cells.hollow, own is not None and own.hollow.any(), thin),
        (cells.missing, own is not None and own.missing.any(), {"layer": "below", **grey}),
    ):
        for row, column in np.argwhere(at).tolist():
            _frame(draft, column, heights[row], 0.44, **frame)
        if of_own:
            _frame(draft, 0, top, 0.44, cells.values.shape[1] - 1, **frame)


def _frame(draft: style.Draft, column: int, height: float, half: float, wider: int = 0, **frame: Any) -> None:
    ends = {"x0": column - half, "x1": column + wider + half, "y0": height - half, "y1": height + half}
    draft.shape(type="rect", **ends, **frame)
