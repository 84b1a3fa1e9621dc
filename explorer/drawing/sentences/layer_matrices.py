"""Matrices of cosines of A, B and B − A in one row, with a slider over layers whose frames are in the browser."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from explorer import in_words
from explorer.drawing import style
from explorer.drawing.sentences.heatmaps import Floats

WRITTEN = 12  # most sentences with a number in every cell
LABELLED = 16  # with the beginning of each, and not its number alone
MOST_CELLS = 120_000  # of a matrix over all frames: more would be megabytes of hover texts
HEIGHT = 440
CHANGE = "B − A"
_HOVERED = 160  # most characters of a sentence in the hover text
_STRIP, _BOTTOM, _GAP = 0.035, 0.15, 0.03  # shares: the legend's colours, where matrices begin, and between them
_PLAY = 700  # milliseconds of a frame
_NUMBERS = np.array([in_words.number(hundredth / 100) for hundredth in range(-100, 101)])
_CHANGES = np.array([in_words.signed(hundredth / 100) for hundredth in range(-200, 201)])
MISSING = "no cosine"


@dataclass(frozen=True, eq=False)
class LayeredSide:
    """A side: its cosines (step, sentence, sentence), and the mean of random pairs (step,) if it is known."""

    name: str
    title: str
    cosines: Floats
    random: Floats | None = None


@dataclass(frozen=True, eq=False)
class _Panel:
    """One matrix: values (step, sentence, sentence), as they are colours and as hundredths, and its legend."""

    title: str
    values: Floats
    hundredths: NDArray[np.float64]
    texts: NDArray[np.str_]
    span: tuple[float, float]
    scale: Any

    def text(self, step: int, order: NDArray[np.intp]) -> NDArray[np.str_]:
        """The text (sentence, sentence) of each cell."""
        there = self.hundredths[step][np.ix_(order, order)]
        known = np.isfinite(there)
        middle = len(self.texts) // 2
        return np.where(known, self.texts[np.where(known, there, 0).astype(int) + middle], MISSING)


def steps_that_fit(sentences: int, steps: int, at: int) -> list[int]:
    """The steps that have a frame: all, or for many sentences some from the first to the last, with `at`."""
    most = max(3, MOST_CELLS // sentences**2)
    return sorted({*np.linspace(0, steps - 1, min(steps, most)).round().astype(int).tolist(), at})


def cell_of(number: int, sentences: int) -> tuple[int, int, int]:
    """The step, and the two sentences, of a clicked cell."""
    step, cell = divmod(number, sentences**2)
    return (step, *divmod(cell, sentences))


def matrices(
    sides: Sequence[LayeredSide],
    labels: Sequence[str],
    sentences: Sequence[str],
    order: NDArray[np.intp],
    at: int,
    chosen: tuple[int, int] | None,
) -> go.Figure:
    """The matrix of each side and their difference at step `at`, and a slider to the others, which `labels` name.

    Sentences are in that order from the top left; the chosen pair is framed. The diagonal is omitted, since its cosines
    are 1 whatever the model.
    """
    panels = _panels(sides)
    count = len(order)
    draft = style.Draft(rows=2, cols=len(panels), across=_GAP)
    steps = steps_that_fit(count, len(labels), at)
    animated: list[int] = []  # the traces that a frame changes
    for column, panel in enumerate(panels, start=1):
        animated += _draw(draft, panel, column, at, order, sentences)
        if chosen is not None and chosen[0] != chosen[1]:
            _mark(draft, column, [order.tolist().index(number) for number in chosen], count)
    marks = _legends(draft, sides, len(panels), at)
    shown = [labels[step] for step in steps]
    figure = draft.figure(
        HEIGHT,
        margin={"l": 118 if count <= LABELLED else 26, "r": 8, "t": 46, "b": 78},
        hoverdistance=-1,
        showlegend=False,
        sliders=[_slider(shown, steps.index(at))] if len(steps) > 1 else [],
        updatemenus=[_buttons(shown)] if len(steps) > 1 else [],
    )
    if len(panels) == 3:  # the legend of A and B takes the place of two
        figure.layout.xaxis5 = figure.layout.yaxis5 = None
    if len(steps) > 1:
        figure.frames = [
            {"name": label, "data": _frame(sides, panels, step, order), "traces": [*animated, *marks]}
            for label, step in zip(shown, steps, strict=True)
        ]
    return figure


def _panels(sides: Sequence[LayeredSide]) -> list[_Panel]:
    scale = style.COSINE_RANGE, style.COSINE_SCALE
    hundredths = [np.rint(100 * side.cosines) for side in sides]
    panels = [
        _Panel(style.short_text(f"{side.name}  {side.title}", 44), side.cosines, shown, _NUMBERS, *scale)
        for side, shown in zip(sides, hundredths, strict=True)
    ]
    if len(sides) == 2:
        one, other = sides
        gap = hundredths[1] - hundredths[0]  # what is written is the difference of both cosines as they are written
        scale_of_gaps = style.DIFFERENCE_RANGE, style.DIFFERENCE_SCALE
        title = f"{CHANGE} (blue: more similar in B)"
        panels.append(_Panel(title, other.cosines - one.cosines, gap, _CHANGES, *scale_of_gaps))
    return panels


def _parts(panel: _Panel, step: int, order: NDArray[np.intp]) -> list[dict[str, Any]]:
    """What a step changes in the traces of a panel: colours, points, and numbers."""
    count = len(order)
    shown = panel.values[step][np.ix_(order, order)].astype(np.float32)
    np.fill_diagonal(shown, np.nan)
    rows, columns = np.nonzero(~np.eye(count, dtype=bool))
    texts = panel.text(step, order)
    cells = (step * count * count + order[rows] * count + order[columns]).astype(np.int32)
    parts: list[dict[str, Any]] = [
        {"kind": "heatmap", "z": shown},
        {"kind": "scatter", "customdata": cells, "text": texts[rows, columns].tolist()},
    ]
    if count <= WRITTEN:
        known = np.isfinite(shown[rows, columns])
        ink = style.text_colours(shown[rows, columns].astype(np.float64), *panel.span, panel.scale)
        written = np.where(known, texts[rows, columns], "").tolist()
        parts.append({"kind": "scatter", "text": written, "textfont": {"color": ink}})
    return parts


def _draw(
    draft: style.Draft, panel: _Panel, column: int, at: int, order: NDArray[np.intp], sentences: Sequence[str]
) -> list[int]:
    """Draw a panel; the numbers of the traces that a frame changes."""
    count = len(order)
    first = draft.traces
    parts = iter(_parts(panel, at, order))
    places = list(range(count))
    rows, columns = np.nonzero(~np.eye(count, dtype=bool))
    gap = 1 if count <= LABELLED else 0  # with gaps a frame of many cells takes a third longer
    low, high = panel.span
    here = {"row": 1, "col": column}
    # the axes are positions, since equal sentences would share a row
    heat = {"x": places, "y": places, "zmin": low, "zmax": high, "colorscale": panel.scale, "showscale": False}
    draft.add(**next(parts) | heat | here, xgap=gap, ygap=gap, hoverinfo="skip")
    # a heatmap has no click events, so every cell has a point; invisible ones are drawn once, not 40,000 times
    draft.add(
        **next(parts) | here,
        x=columns.astype(np.uint8),
        y=rows.astype(np.uint8),
        mode="markers",
        marker={"maxdisplayed": 1, "opacity": 0},
        hovertemplate="%{y}<br>%{x}<br><b>%{text}</b><extra></extra>",
    )
    if count <= WRITTEN:
        numbers = next(parts)
        numbers["textfont"] = {**numbers["textfont"], "size": 10 if count <= 8 else 8}
        draft.add(**numbers | here, x=columns, y=rows, mode="text", hoverinfo="skip")
    marked = [*range(first, draft.traces)]
    _axes(draft, panel, column, order, sentences)
    return marked


def _frame(
    sides: Sequence[LayeredSide], panels: Sequence[_Panel], step: int, order: NDArray[np.intp]
) -> list[dict[str, Any]]:
    """All that a step changes, in the order of the traces."""
    parts = [part for panel in panels for part in _parts(panel, step, order)]
    parts += [_random_mark(sides, number, step) for number, side in enumerate(sides) if side.random is not None]
    return [{"type": part.pop("kind"), **part} for part in parts]


def _random_mark(sides: Sequence[LayeredSide], number: int, step: int) -> dict[str, Any]:
    """Where random pairs of a side are at a step; of two sides the label of the lower is on the left."""
    means = [float("nan") if side.random is None else float(side.random[step]) for side in sides]
    mean = means[number]
    if not np.isfinite(mean):
        return {"kind": "scatter", "x": [None], "text": [""]}
    others = [other for place, other in enumerate(means) if place != number and np.isfinite(other)]
    left = any(mean < other or (mean == other and number == 0) for other in others)
    text = f"{sides[number].name} {in_words.number(mean)}" if others else in_words.number(mean)
    if left or not others:
        text = f"random pairs: {text}"
    return {"kind": "scatter", "x": [mean], "text": [text], "textposition": f"top {'left' if left else 'right'}"}


def _legends(draft: style.Draft, sides: Sequence[LayeredSide], columns: int, at: int) -> list[int]:
    """The colours of cosines below A and B, with random pairs, and those of differences; the traces of the marks."""
    scales: list[tuple[int, tuple[float, float], Any, list[float]]] = [
        (1, style.COSINE_RANGE, style.COSINE_SCALE, [-0.2, 0.0, 0.5, 1.0])
    ]
    if columns == 3:
        scales.append((3, style.DIFFERENCE_RANGE, style.DIFFERENCE_SCALE, [-0.5, 0.0, 0.5]))
    for column, (low, high), scale, ticks in scales:
        shades = np.linspace(low, high, 121)
        here = {"row": 2, "col": column}
        draft.add(
            "heatmap", **here, x=shades, y=[0], z=shades[None], zmin=low, zmax=high, colorscale=scale, showscale=False,
            hoverinfo="skip",
        )  # fmt: skip
        sign = in_words.signed if low == -high else in_words.number
        digits = ["0" if not tick else sign(tick, int(tick != high or high < 1)) for tick in ticks]
        draft.x_axes(**here, range=[low, high], tickvals=ticks, ticktext=digits, ticks="outside", **style.STILL)
        draft.y_axes(**here, domain=[0, _STRIP], range=[-0.5, 0.5], showticklabels=False, ticks="", **style.STILL)
    if columns == 3:
        draft.x_axes(row=2, col=1, domain=[0, (2 - _GAP) / 3])  # below A and B
    marks = []
    for number, (side, colour) in enumerate(zip(sides, style.SIDES, strict=False)):
        if side.random is None:
            continue
        marks.append(draft.traces)
        draft.add(
            **_random_mark(sides, number, at),
            row=2,
            col=1,
            y=[0.5],
            mode="markers+text",
            marker={"symbol": "triangle-down", "size": 10, "color": colour},
            textfont={"size": 11},
            cliponaxis=False,
            hoverinfo="skip",
        )
    return marks


def _axes(draft: style.Draft, panel: _Panel, column: int, order: NDArray[np.intp], sentences: Sequence[str]) -> None:
    """The axes of a panel, whose hidden labels are the sentences of the hover text, and what is written next to it."""
    count = len(order)
    names = [f"{number + 1} · {style.hover_text(sentences[number], 34, _HOVERED)}" for number in order]
    named = {"tickvals": list(range(count)), "ticktext": names, "showticklabels": False, "ticks": "", **style.STILL}
    draft.x_axes(row=1, col=column, range=[-0.5, count - 0.5], **named)
    draft.y_axes(row=1, col=column, range=[count - 0.5, -0.5], domain=[_BOTTOM, 1], **named)
    some = range(0, count, 1 if count <= LABELLED else -(-count // 10))
    numbers: dict[str, Any] = {
        "row": 1,
        "col": column,
        "cliponaxis": False,
        "textfont": {"size": 11 if count <= 20 else 9},
    }
    texts = [str(order[place] + 1) for place in some]
    draft.texts(**numbers, x=list(some), y=[-0.5] * len(some), text=texts, textposition="top center")
    if column == 1:
        every = range(count) if count <= LABELLED else some
        # isolated, since right-to-left text would otherwise change the position of the number
        labels = [
            f"\u2068{style.short_text(sentences[order[place]], 16)}\u2069 {order[place] + 1}"
            if count <= LABELLED
            else str(order[place] + 1)
            for place in every
        ]
        draft.texts(**numbers, x=[-0.5] * len(every), y=list(every), text=labels, textposition="middle left")
    draft.note(
        panel.title, xref=f"x{column if column > 1 else ''} domain", x=0, xanchor="left", yref="paper", y=1,
        yanchor="bottom", yshift=16, font={"size": 13},
    )  # fmt: skip


def _mark(draft: style.Draft, column: int, places: list[int], count: int) -> None:
    """Frame the two cells of a pair."""
    half = max(0.5, count / 80)  # for many sentences wider than a cell, to be visible
    name = str(column) if column > 1 else ""
    for row, at in (places, places[::-1]):
        ends = {"x0": at - half, "x1": at + half, "y0": row - half, "y1": row + half}
        draft.shape(type="rect", **ends, xref=f"x{name}", yref=f"y{name}", line={"color": style.ACCENT, "width": 3})


def _slider(labels: Sequence[str], active: int) -> dict[str, Any]:
    """A slider whose steps are frames in the browser."""
    now = {"mode": "immediate", "frame": {"duration": 0, "redraw": True}, "transition": {"duration": 0}}
    return {
        "active": active,
        "x": 0.16,
        "len": 0.84,
        "y": 0,
        "pad": {"t": 30, "b": 0},
        "currentvalue": {"prefix": "Layer ", "xanchor": "right", "offset": 4},
        "tickcolor": style.QUIET,
        "bgcolor": style.QUIET,
        "activebgcolor": style.ACCENT,
        "borderwidth": 0,
        "minorticklen": 0,
        "steps": [{"label": label, "method": "animate", "args": [[label], now]} for label in labels],
    }


def _buttons(labels: Sequence[str]) -> dict[str, Any]:
    """Play through all layers, or stop."""
    play = {"frame": {"duration": _PLAY, "redraw": True}, "transition": {"duration": 0}, "mode": "immediate"}
    stop = {"frame": {"duration": 0, "redraw": False}, "transition": {"duration": 0}, "mode": "immediate"}
    return {
        "type": "buttons",
        "direction": "right",
        "showactive": False,
        "x": 0,
        "xanchor": "left",
        "y": 0,
        "yanchor": "top",
        "pad": {"t": 38, "l": 0},
        "bgcolor": "rgba(128,128,128,0.15)",
        "buttons": [
            {"label": "▶ Play", "method": "animate", "args": [list(labels), play]},
            {"label": "❚❚", "method": "animate", "args": [[None], stop]},
        ],
    }
