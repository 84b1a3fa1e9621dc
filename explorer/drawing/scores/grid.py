"""Heatmap of the scores of every layer & pooling."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from explorer.drawing.parts.style import GRID_SCALE, hover_text, text_colours
from explorer.drawing.scores.cell_grid import Cells, ColourScale, cell_grid
from explorer.encoding.read.readings import OWN, Reading, Row, pair_name
from explorer.measuring.scores.layer_scores import NO_SCORE, LayerScores, why_missing
from explorer.measuring.scores.metrics import AGGREGATES

Span = tuple[float, float]


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
    scale = ColourScale(*(span or span_of(scores, metric=metric, aggregate=aggregate)), GRID_SCALE)
    own = scores.own_score(metric, aggregate)
    of_own = None
    if own is not None:
        why = why_missing(scores, OWN, metric, aggregate)
        told = f"{scores.own_title}, {why}" if why else scores.own_title
        of_own = _cells(np.array([[own]]), [f"<b>model default</b><br>{hover_text(told)}"], scale)
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
            for is_missing, colour in zip(missing.flat, text_colours(table, scale.low, scale.high), strict=True)
        ],
        notes=notes,
        missing=missing,
        framed=np.zeros_like(missing),
    )


def row_label(row: Row, last: int) -> str:
    """The label of a row."""
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
    ways = AGGREGATES if scores.has_parts else AGGREGATES[:1]
    tables = {(metric, way): scores.table(metric, way) for metric in scores.metrics for way in ways}
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
                for (metric, way), table in tables.items():
                    joined = f" ({way})" if scores.has_parts else ""
                    lines.append(f"{metric}{joined}: {_number(table[place, column])}")
                reasons = (why_missing(scores, reading, metric, way) for metric, way in tables)
                lines += [hover_text(why) for why in dict.fromkeys(reasons) if why]
            notes[-1].append("<br>".join(lines))
    return notes
