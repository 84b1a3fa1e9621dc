"""Scores of A and B by layer, with the confidence interval of the difference."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from explorer.drawing.parts.draft import Draft
from explorer.drawing.parts.style import ACCENT, QUIET, SIDES
from explorer.measuring.comparing.comparison import Comparison
from explorer.measuring.scores.bootstrap import Interval


def compared_by_layer(
    comparison: Comparison, pooling: str, metric: str, aggregate: str, grid: Interval | None
) -> go.Figure:
    """The score of both by layer under one pooling, and the interval of the difference below."""
    draft = Draft(rows=1 if grid is None else 2, shared=True, down=0.12)
    for name, scores, colour in (("A", comparison.one, SIDES[0]), ("B", comparison.other, SIDES[1])):
        draft.add(
            "scatter",
            x=list(range(scores.last + 1)),
            y=scores.table(metric, aggregate)[: scores.last + 1, scores.poolings.index(pooling)],
            mode="lines+markers",
            name=name,
            line={"color": colour, "width": 2.5},
            marker={"size": 8},
            hovertemplate=f"{name}, layer %{{x}}: %{{y:.2f}}<extra></extra>",
            row=1,
        )
    if grid is not None:
        _add_intervals(draft, grid, comparison.one.poolings.index(pooling), comparison.one.last + 1)
    return draft.figure(460, legend={"y": 1.04})


def _add_intervals(draft: Draft, grid: Interval, column: int, layers: int) -> None:
    middle, low, high = (side[:layers, column] for side in (grid.difference, grid.low, grid.high))
    draft.add(
        "scatter",
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
    )
    draft.line(y=0, color=QUIET, width=1.5, row=2)
    draft.y_axes(title="B - A", zeroline=False, row=2)
    draft.x_axes(title="layer", zeroline=False, row=2)
