"""Scores by layer: a line for each pooling of one model, or a small figure for each task with a line for each model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from explorer.drawing.parts.draft import Draft
from explorer.drawing.parts.style import (
    ACCENT,
    MODEL_COLOURS,
    MODEL_SYMBOLS,
    POOLING_COLOURS,
    POOLING_SYMBOLS,
    QUIET,
    short_text,
)
from explorer.drawing.scores.cell_grid import CELL_HEIGHT, heights_of
from explorer.drawing.scores.grid import notes
from explorer.encoding.read.readings import OWN, Reading
from explorer.measuring.scores.layer_scores import LayerScores

ACROSS, HEIGHT = 3, 220  # figures in a row, pixels of each
Lines = Mapping[str, Sequence[float]]  # by model: a score for each layer


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


def scores_by_layer(tasks: Mapping[str, Lines]) -> go.Figure:
    """For every task the score by layer, a line for each model; a layer without a score is a gap."""
    across = min(ACROSS, len(tasks))
    down = math.ceil(len(tasks) / across)
    draft = Draft(
        rows=down,
        cols=across,
        titles=[short_text(task) for task in tasks],
        down=min(0.2, 0.36 / down),
        across=0.07,
    )
    models = list(dict.fromkeys(model for lines in tasks.values() for model in lines))
    for place, lines in enumerate(tasks.values()):
        for model, scores in lines.items():
            at = models.index(model)
            draft.add(
                "scatter",
                x=list(range(len(scores))),
                y=list(scores),
                mode="lines+markers",
                name=short_text(model),
                legendgroup=model,
                showlegend=model in lines and place == _first(tasks, model),
                line={"color": MODEL_COLOURS[at % len(MODEL_COLOURS)], "width": 2},
                marker={"size": 6, "symbol": MODEL_SYMBOLS[at % len(MODEL_SYMBOLS)]},
                hovertemplate=f"{short_text(model)}, layer %{{x}}: %{{y:.2f}}<extra></extra>",
                row=place // across + 1,
                col=place % across + 1,
            )
    draft.x_axes(zeroline=False)
    draft.y_axes(zeroline=False)
    # a long legend on a narrow screen takes height from the figures, and must not cover the numbers of their axes
    return draft.figure(80 + HEIGHT * down, legend={"y": -0.2 / down, "yanchor": "top"})


def _first(tasks: Mapping[str, Lines], model: str) -> int:
    """The first figure that has a model: its line stands for it in the legend."""
    return next(place for place, lines in enumerate(tasks.values()) if model in lines)
