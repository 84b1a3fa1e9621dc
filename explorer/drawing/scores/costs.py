"""Figures of a score against what it costs: seconds of training, training rows, or the size of an encoder."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from explorer.drawing import style

FAR = 20.0  # times: costs that differ by more are on a logarithmic axis
TICKS = 6  # the most on one
STORED_AS = {"float32": "circle", "float16": "square", "int8": "diamond", "bits": "triangle-up"}


@dataclass(frozen=True)
class MethodMark:
    """A row: its mean difference to the base with its 95 % interval, and the seconds of one training."""

    label: str
    seconds: float
    gain: float
    low: float
    high: float
    score: str  # with its deviation, as the table has it
    change: str  # the difference and its interval in words


def score_by_cost(marks: Sequence[MethodMark], measure: str) -> go.Figure:
    """Gain over the base against the time of training, a marker with an interval for each method and setting.

    Cheaper is further left, better is higher, and the base is a line at 0.
    """
    draft = style.Draft()
    draft.level(0, "base, model default")
    for place, mark in enumerate(marks):
        colour = style.MODEL_COLOURS[place % len(style.MODEL_COLOURS)]
        text = (
            f"{style.hover_text(mark.label)}<br>difference to the base: {mark.change}<br>"
            f"test, {style.hover_text(measure)}: {mark.score}<br>"
            f"{mark.seconds:,.0f} s for a training"
        )
        draft.points(
            x=[mark.seconds],
            y=[mark.gain],
            error_y=style.error_bars([mark.gain], [mark.low], [mark.high], thickness=1.5, width=5),
            name=style.short_text(mark.label, 40),
            marker={"size": 12, "symbol": style.MODEL_SYMBOLS[place % len(style.MODEL_SYMBOLS)], "color": colour},
            hovertemplate=f"{text}<extra></extra>",
        )
    draft.x_axes(**cost_axis("seconds of one training", [mark.seconds for mark in marks]))
    draft.y_axes(title=f"difference to the base (test, {style.short_text(measure)} × 100)", zeroline=False)
    # a line of the legend has about three names
    lines = -(-len(marks) // 3)
    return draft.figure(400 + 22 * lines, showlegend=True, legend={"y": -0.22, "yanchor": "top"})


@dataclass(frozen=True)
class RowMark:
    """A number of training rows: its test score × 100 with the interval of its difference to the base."""

    rows: int
    share: str  # `25 %`; "" for a number
    score: float
    low: float
    high: float
    text: str  # shown on hover


def score_by_rows(lines: Mapping[str, Sequence[RowMark]], bases: Mapping[str, float], measure: str) -> go.Figure:
    """The test score by the number of training rows, a line with intervals for each method and setting.

    The axis is logarithmic, so that each doubling takes the same width; each base is a dashed line.
    """
    draft = style.Draft()
    for base, score in bases.items():
        draft.level(score, style.short_text(base))
    for place, (label, marks) in enumerate(lines.items()):
        colour = style.MODEL_COLOURS[place % len(style.MODEL_COLOURS)]
        scores = [mark.score for mark in marks]
        bars = style.error_bars(scores, [mark.low for mark in marks], [mark.high for mark in marks])
        draft.curve(
            colour,
            x=[mark.rows for mark in marks],
            y=scores,
            error_y={**bars, "thickness": 1.5, "width": 5},
            name=style.short_text(label, 40),
            marker={"size": 9, "symbol": style.MODEL_SYMBOLS[place % len(style.MODEL_SYMBOLS)], "color": colour},
            text=[style.hover_text(mark.text) for mark in marks],
            hovertemplate="%{text}<extra></extra>",
        )
    # the most rows, and others that leave room for a label on a narrow screen; shares are of one text each
    shares = {mark.rows: mark.share for marks in lines.values() for mark in marks}
    apart = (max(shares) / min(shares)) ** (1 / TICKS)
    ticks: list[int] = []
    for rows in sorted(shares, reverse=True):
        if not ticks or rows * apart <= ticks[-1]:
            ticks.append(rows)
    labels = [f"{rows:,}" + f"<br>{shares[rows]}" * (len(lines) == 1 and bool(shares[rows])) for rows in ticks]
    draft.x_axes(type="log", tickvals=ticks, ticktext=labels, title="training rows", zeroline=False)
    draft.y_axes(title=f"{style.short_text(measure)} × 100 (test)", zeroline=False)
    return draft.figure(380, showlegend=len(lines) > 1, legend={"y": -0.3, "yanchor": "top"})


@dataclass(frozen=True)
class SizeMark:
    """A point: its number for clicks, its family for the colour, and the text shown on hover."""

    number: int
    family: str
    stored: str
    cost: float
    score: float
    chance: bool  # whether its difference to the whole model could be chance
    text: str
    on_front: bool  # whether no other point beats it
    chosen: bool


def size_quality(marks: Sequence[SizeMark], whole: float, cost: str, measure: str) -> go.Figure:
    """Score of every size of an encoder against its cost, with the front that no other size beats.

    Higher is better; a dashed line is the score of the whole model, hollow marks could equal it.
    """
    draft = style.Draft()
    draft.level(whole, "whole model", right=True)
    on_front = sorted((mark for mark in marks if mark.on_front), key=lambda mark: mark.cost)
    draft.path(
        x=[mark.cost for mark in on_front],
        y=[mark.score for mark in on_front],
        name="front",
        line={"color": style.ACCENT, "width": 2},
        hoverinfo="skip",
    )
    _add_sizes(draft, marks)
    draft.x_axes(**cost_axis(cost, [mark.cost for mark in marks]))
    draft.y_axes(title=f"{measure} × 100", zeroline=False)
    # a line of the legend has about four names; at the bottom, since on a narrow screen each has its own line
    names = 1 + len({mark.family for mark in marks}) + len({mark.stored for mark in marks})
    lines = -(-names // 4)
    return draft.figure(310 + 22 * lines, showlegend=True, legend={"yref": "container", "y": 0, "yanchor": "bottom"})


def _add_sizes(draft: style.Draft, marks: Sequence[SizeMark]) -> None:
    """A point for each size, in the colour of its family and with the symbol of how it is stored."""
    for place, family in enumerate(dict.fromkeys(mark.family for mark in marks)):
        of_family = [mark for mark in marks if mark.family == family]
        colour = style.MODEL_COLOURS[place % len(style.MODEL_COLOURS)]
        draft.points(
            x=[mark.cost for mark in of_family],
            y=[mark.score for mark in of_family],
            customdata=[mark.number for mark in of_family],
            name=style.short_text(family, 40),
            marker={
                "size": [13 if mark.chosen else 8 for mark in of_family],
                "symbol": [STORED_AS[mark.stored] + "-open" * mark.chance for mark in of_family],
                "color": colour,
                "line": {"width": 1, "color": colour},
            },
            text=[style.hover_text(mark.text, 70) for mark in of_family],
            hovertemplate="%{text}<extra></extra>",
        )
    for stored in dict.fromkeys(mark.stored for mark in marks):
        draft.points(
            x=[None],
            y=[None],
            name=stored,
            marker={"size": 8, "symbol": STORED_AS[stored], "color": style.QUIET},
            hoverinfo="skip",
        )


def cost_axis(title: str, costs: Sequence[float]) -> dict[str, Any]:
    """The settings of an axis of costs: logarithmic if they differ by more than `FAR` times, with few ticks."""
    if not costs or min(costs) <= 0 or max(costs) <= FAR * min(costs):
        return {"title": title, "zeroline": False, "type": "linear", "rangemode": "tozero"}
    ticks = log_ticks(min(costs), max(costs))
    labels = [f"{tick:,.10g}" for tick in ticks]
    return {"title": title, "zeroline": False, "type": "log", "tickvals": ticks, "ticktext": labels}


def log_ticks(low: float, high: float) -> list[float]:
    """At most `TICKS` ticks of a logarithmic axis: 1, 2 and 5 times powers of ten, else powers of ten alone."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits in ((1, 2, 5), (1, 3), (1,)):
        ticks = [float(f"{digit}e{power}") for power in powers for digit in digits]
        inside = [tick for tick in ticks if low <= tick <= high]
        if len(inside) <= TICKS:
            return inside
    return inside[:: -(-len(inside) // TICKS)]
