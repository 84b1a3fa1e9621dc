"""Scores by layer, a line for each pooling."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from explorer.drawing.parts.draft import Draft
from explorer.drawing.parts.style import ACCENT, POOLING_COLOURS, POOLING_SYMBOLS, QUIET
from explorer.drawing.scores.cell_grid import CELL_HEIGHT, heights_of
from explorer.drawing.scores.grid import notes
from explorer.encoding.read.readings import OWN, Reading
from explorer.measuring.scores.layer_scores import LayerScores


def score_by_layer(scores: LayerScores, metric: str, aggregate: str, chosen: Reading | None) -> go.Figure:
    """The score by layer, a line for each pooling; pairs of layers are at the side."""
    table = scores.table(metric, aggregate)
    at = heights_of(scores.rows)
    layers = scores.last + 1
    told = notes(scores)
    draft = Draft()
    for column, pooling in enumerate(scores.poolings):
        for part, mode in ((slice(0, layers), "lines+markers"), (slice(layers, None), "markers")):
            draft.add(
                "scatter",
                x=at[part],
                y=table[part, column],
                mode=mode,
                name=pooling,
                legendgroup=pooling,
                showlegend=part.start == 0,
                line={"color": POOLING_COLOURS[pooling], "width": 2.5},
                marker={"symbol": POOLING_SYMBOLS[pooling], "size": 9, "color": POOLING_COLOURS[pooling]},
                text=[told[row][column] for row in range(len(scores.rows))][part],
                hovertemplate="%{text}<extra></extra>",
            )
    _add_level(draft, "model default", scores.own_score(metric, aggregate), QUIET)
    cell = None if chosen is None else scores.place(chosen)
    if chosen is not None and chosen != OWN and cell is None:
        _add_level(draft, chosen.title, scores.score(chosen, metric, aggregate), ACCENT)
    if cell is not None:
        row, column = cell
        draft.add(
            "scatter",
            x=[at[row]],
            y=[table[row, column]],
            mode="markers",
            marker={"symbol": "circle-open", "size": 20, "color": ACCENT, "line": {"width": 3}},
            name="chosen",
            hoverinfo="skip",
        )
    if np.isnan(table).all():
        draft.note("no correlation", x=0.5, y=0.5, xref="paper", yref="paper")
    draft.x_axes(tickvals=at, ticktext=[row.label for row in scores.rows], title="layer", zeroline=False)
    draft.y_axes(title=f"{metric} × 100", zeroline=False)
    return draft.figure(70 + CELL_HEIGHT * len(scores.rows))


def _add_level(draft: Draft, title: str, score: float | None, colour: str) -> None:
    """A line at the score of a layer & pooling outside of the grid, if it has one."""
    if score is None or np.isnan(score):
        return
    draft.line(y=score, color=colour, dash="dash", width=1.5)
    draft.note(f"{title} {score:.2f}", x=0, xref="paper", xanchor="left", y=score, yanchor="bottom")
