"""A figure in the making: traces, lines, notes and axes are collected, and plotly gets them all at once.

plotly checks the layout again at each update_layout, update_xaxes and add_hline, and copies it too. Given one
dictionary, it checks everything once, in a fifth of the time.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

MARGIN = {"l": 0, "r": 8, "t": 30, "b": 40}
ABOVE = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0}  # a legend in a line above the figure
FAR = 20.0  # times: costs that differ by more are on a logarithmic axis
TICKS = 6  # the most on one
PANEL_TITLE = {"showarrow": False, "font": {"size": 16}, "xanchor": "center", "yanchor": "bottom"}


class Draft:
    """One panel, or panels in rows and columns, counted from 1 at the top left.

    `down` and `across` are the gaps between panels, as a share of the figure. With `shared` panels of a column have one
    range of x, with labels at the lowest.
    """

    def __init__(
        self,
        rows: int = 1,
        cols: int = 1,
        *,
        down: float = 0.0,
        across: float = 0.0,
        shared: bool = False,
        titles: Sequence[str] = (),
    ) -> None:
        self._cols, self._several = cols, rows * cols > 1
        self._traces: list[dict[str, Any]] = []
        self._lines: list[dict[str, Any]] = []
        self._notes: list[dict[str, Any]] = []
        self._x: list[dict[str, Any]] = [{} for _ in range(rows * cols)]
        self._y: list[dict[str, Any]] = [{} for _ in range(rows * cols)]
        if self._several:
            self._place(_domains(rows, down)[::-1], _domains(cols, across), shared, titles)

    def _place(
        self, heights: list[list[float]], widths: list[list[float]], shared: bool, titles: Sequence[str]
    ) -> None:
        for place, (x, y) in enumerate(zip(self._x, self._y, strict=True)):
            height, width = heights[place // self._cols], widths[place % self._cols]
            x |= {"anchor": _axis("y", place), "domain": width}
            y |= {"anchor": _axis("x", place), "domain": height}
            lowest = place % self._cols + len(self._x) - self._cols
            if shared and place != lowest:
                x |= {"matches": _axis("x", lowest), "showticklabels": False}
            if place < len(titles):
                middle = {"x": sum(width) / 2, "y": height[1], "xref": "paper", "yref": "paper"}
                self._notes.append({"text": titles[place], **middle, **PANEL_TITLE})

    def add(self, kind: str, *, row: int = 1, col: int = 1, **trace: Any) -> None:
        """A trace of plotly's, such as "scatter", in a panel."""
        place = self._panel(row, col)
        axes = {"xaxis": _axis("x", place), "yaxis": _axis("y", place)} if self._several else {}
        self._traces.append({"type": kind, **axes, **trace})

    def line(self, *, x: float | None = None, y: float | None = None, row: int = 1, col: int = 1, **style: Any) -> None:
        """A line across a panel, at one x or one y."""
        place = self._panel(row, col)
        x_axis, y_axis = _axis("x", place), _axis("y", place)
        if y is None:
            ends = {"x0": x, "x1": x, "xref": x_axis, "y0": 0, "y1": 1, "yref": f"{y_axis} domain"}
        else:
            ends = {"x0": 0, "x1": 1, "xref": f"{x_axis} domain", "y0": y, "y1": y, "yref": y_axis}
        self._lines.append({"type": "line", **ends, "line": style})

    def shape(self, **shape: Any) -> None:
        """A shape of plotly's."""
        self._lines.append(shape)

    def note(self, text: str, **where: Any) -> None:
        """A text at a place, without an arrow unless one is asked for."""
        self._notes.append({"text": text, "showarrow": False, **where})

    def x_axes(self, *, row: int | None = None, col: int | None = None, **settings: Any) -> None:
        """Settings of the x axes of all panels, or of a row or a column."""
        for place in self._panels(row, col):
            self._x[place] |= settings

    def y_axes(self, *, row: int | None = None, col: int | None = None, **settings: Any) -> None:
        """Settings of the y axes of all panels, or of a row or a column."""
        for place in self._panels(row, col):
            self._y[place] |= settings

    def figure(
        self, height: int, *, margin: dict[str, int] | None = None, legend: dict[str, Any] | None = None, **layout: Any
    ) -> go.Figure:
        """The figure; what is not given of its margins and of its legend's place is as in all figures."""
        axes = {
            _axis(f"{name}axis", place): settings
            for name, every in (("x", self._x), ("y", self._y))
            for place, settings in enumerate(every)
            if settings
        }
        return go.Figure(
            self._traces,
            {
                "height": height,
                "margin": MARGIN | (margin or {}),
                "hovermode": "closest",
                "legend": ABOVE | (legend or {}),
                "shapes": self._lines,
                "annotations": self._notes,
                **axes,
                **layout,
            },
        )

    def _panel(self, row: int, col: int) -> int:
        return (row - 1) * self._cols + col - 1

    def _panels(self, row: int | None, col: int | None) -> Iterator[int]:
        for place in range(len(self._x)):
            if row in (None, place // self._cols + 1) and col in (None, place % self._cols + 1):
                yield place


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


def _axis(name: str, place: int) -> str:
    """Plotly's name of an axis: the first has no number."""
    return f"{name}{place + 1}" if place else name


def _domains(count: int, gap: float) -> list[list[float]]:
    """The two ends of each of several parts of equal size, as shares of the whole."""
    size = (1 - gap * (count - 1)) / count
    return [[part * (size + gap), min(1.0, part * (size + gap) + size)] for part in range(count)]


def segments(starts: NDArray[Any], ends: NDArray[Any]) -> NDArray[np.float32]:
    """Points (point, axis) of lines from starts to ends (line, axis), with a gap after each line."""
    points = np.full((len(starts) * 3, starts.shape[1]), np.nan, dtype=np.float32)
    points[0::3], points[1::3] = starts, ends
    return points
