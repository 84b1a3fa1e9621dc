"""Gain over the base against the time of training, a marker with an interval for each method and setting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from explorer.drawing.parts.draft import Draft, cost_axis
from explorer.drawing.parts.style import QUIET, hover_text, short_text
from explorer.drawing.scores.task_lines import COLOURS, SYMBOLS


@dataclass(frozen=True)
class MethodMark:
    """A row: its mean difference to the base with its 95 % interval, and the seconds of one training."""

    label: str
    seconds: float
    gain: float
    low: float
    high: float
    score: str  # with its deviation, as the table has it


def score_by_cost(marks: Sequence[MethodMark]) -> go.Figure:
    """The figure: cheaper is further left, better is higher, and the base is a line at 0."""
    draft = Draft()
    draft.line(y=0, color=QUIET, dash="dash", width=1.5)
    draft.note("base, model default", x=0, xref="paper", xanchor="left", y=0, yanchor="bottom")
    for place, mark in enumerate(marks):
        colour = COLOURS[place % len(COLOURS)]
        told = (
            f"{hover_text(mark.label)}<br>difference to the base: {mark.gain:+.2f} ({mark.low:+.2f} to "
            f"{mark.high:+.2f})<br>test score: {mark.score}<br>{mark.seconds:,.0f} s for a training"
        )
        draft.add(
            "scatter",
            x=[mark.seconds],
            y=[mark.gain],
            error_y={
                "type": "data",
                "symmetric": False,
                "array": [mark.high - mark.gain],
                "arrayminus": [mark.gain - mark.low],
                "thickness": 1.5,
                "width": 5,
            },
            mode="markers",
            name=short_text(mark.label, 40),
            marker={"size": 12, "symbol": SYMBOLS[place % len(SYMBOLS)], "color": colour},
            hovertemplate=f"{told}<extra></extra>",
        )
    draft.x_axes(**cost_axis("seconds of one training", [mark.seconds for mark in marks]))
    draft.y_axes(title="difference to the base (test)", zeroline=False)
    # a line of the legend has about three names
    lines = -(-len(marks) // 3)
    return draft.figure(400 + 22 * lines, showlegend=True, legend={"y": -0.22, "yanchor": "top"})
