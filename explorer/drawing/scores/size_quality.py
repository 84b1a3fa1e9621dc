"""Score against a cost of every size of an encoder, with the front that no other size beats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from explorer.drawing.parts.draft import Draft, cost_axis
from explorer.drawing.parts.style import ACCENT, QUIET, hover_text, short_text
from explorer.drawing.scores.task_lines import COLOURS

SYMBOLS = {"float32": "circle", "float16": "square", "int8": "diamond", "bits": "triangle-up"}


@dataclass(frozen=True)
class Mark:
    """A point: its number for clicks, its family for the colour, and what is told of it."""

    number: int
    family: str
    stored: str
    cost: float
    score: float
    chance: bool  # whether its difference to the whole model could be chance
    told: str


def size_quality(
    marks: Sequence[Mark], front: Sequence[int], whole: float, cost: str, measure: str, chosen: int | None
) -> go.Figure:
    """The figure: higher is better; a dashed line is the score of the whole model, hollow marks could equal it."""
    draft = Draft()
    draft.line(y=whole, color=QUIET, dash="dash", width=1.5)
    draft.note("whole model", x=1, xref="paper", xanchor="right", y=whole, yanchor="bottom")
    by_number = {mark.number: mark for mark in marks}
    on_front = sorted((by_number[number] for number in front), key=lambda mark: mark.cost)
    draft.add(
        "scatter",
        x=[mark.cost for mark in on_front],
        y=[mark.score for mark in on_front],
        mode="lines",
        name="front",
        line={"color": ACCENT, "width": 2},
        hoverinfo="skip",
    )
    for place, family in enumerate(dict.fromkeys(mark.family for mark in marks)):
        of_family = [mark for mark in marks if mark.family == family]
        colour = COLOURS[place % len(COLOURS)]
        draft.add(
            "scatter",
            x=[mark.cost for mark in of_family],
            y=[mark.score for mark in of_family],
            customdata=[mark.number for mark in of_family],
            mode="markers",
            name=short_text(family, 40),
            marker={
                "size": [13 if mark.number == chosen else 8 for mark in of_family],
                "symbol": [_symbol(mark) for mark in of_family],
                "color": colour,
                "line": {"width": 1, "color": colour},
            },
            text=[hover_text(mark.told, 70) for mark in of_family],
            hovertemplate="%{text}<extra></extra>",
        )
    for stored in dict.fromkeys(mark.stored for mark in marks):
        draft.add(
            "scatter",
            x=[None],
            y=[None],
            mode="markers",
            name=stored,
            marker={"size": 8, "symbol": SYMBOLS[stored], "color": QUIET},
            hoverinfo="skip",
        )
    draft.x_axes(**cost_axis(cost, [mark.cost for mark in marks]))
    draft.y_axes(title=f"{measure} × 100", zeroline=False)
    return draft.figure(520, showlegend=True, legend={"y": -0.16, "yanchor": "top"})


def _symbol(mark: Mark) -> str:
    symbol = SYMBOLS[mark.stored]
    return f"{symbol}-open" if mark.chance else symbol
