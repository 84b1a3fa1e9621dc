"""Scores of several models by layer, a small figure for each task."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from explorer.drawing.parts.draft import Draft
from explorer.drawing.parts.style import ACCENT, QUIET, short_text

# safe for colour-blind readers, on white and on black (after Okabe and Ito)
COLOURS = ("#0094D6", "#D55E00", "#009E73", "#CC79A7", ACCENT, "#8C6BB1", "#B8860B", QUIET)
SYMBOLS = ("circle", "square", "triangle-up", "diamond", "cross", "x", "star", "hexagon")
ACROSS, HEIGHT = 3, 220  # figures in a row, pixels of each
Lines = Mapping[str, Sequence[float]]  # by model: a score for each layer


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
                line={"color": COLOURS[at % len(COLOURS)], "width": 2},
                marker={"size": 6, "symbol": SYMBOLS[at % len(SYMBOLS)]},
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
