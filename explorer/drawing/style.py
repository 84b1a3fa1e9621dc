"""The look of all figures: colours, symbols, text formats, and the draft that a figure is made from."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from html import escape
from textwrap import wrap
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray

from explorer import in_words
from explorer.encoding.read.pooling import POOLINGS

ColourStops = str | Sequence[tuple[float, str]]

SIDES = ("#8C6BB1", "#B8860B")  # A and B; nothing else has these two
GRID_SCALE = "Viridis"
# loss, zero, gain; safe for colour-blind readers (after ColorBrewer's PuOr)
DIFFERENCE_SCALE = ((0.0, "#7F3B08"), (0.5, "#DDDDDD"), (1.0, "#2D5A9E"))
# One scale for cosines of all pages, layers and models, so that a colour means the same everywhere; a cosine below it
# has the colour of its lower end. The brighter, the more similar; without the purple of A and the gold of B (after
# ColorBrewer's YlGnBu).
COSINE_RANGE = (-0.2, 1.0)
_COSINES = ("#081D58", "#253494", "#225EA8", "#1D91C0", "#41B6C4", "#7FCDBB", "#C7E9B4", "#F1FAC8")
COSINE_SCALE = tuple((place / 7, colour) for place, colour in enumerate(_COSINES))
# the same for differences of cosines, which have the colours of DIFFERENCE_SCALE
DIFFERENCE_RANGE = (-0.5, 0.5)
RANDOM = "random"  # the label of the mean cosine of random pairs
ACCENT = "#E5007D"  # what is chosen
QUIET = "#8A8F98"
GAIN, LOSS, CHANCE = "#2E8B57", "#9C3D10", QUIET  # of a difference that is certain, and of one that could be chance
# safe for colour-blind readers, on white and on black (after Okabe and Ito)
MODEL_COLOURS = ("#0094D6", "#D55E00", "#009E73", "#CC79A7", "#A0623D", "#5B6EE1", "#7A9A01", QUIET)
MODEL_SYMBOLS = ("circle", "square", "triangle-up", "diamond", "cross", "x", "star", "hexagon")

STILL = {"showgrid": False, "zeroline": False, "fixedrange": True}  # axes of cells, which are not zoomed

TEXT, AXIS_TITLE = 12, 14  # pixels, where a figure states no size
MARGIN = {"l": 0, "r": 8, "t": 30, "b": 40}
ABOVE = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0}  # a legend in a line above the figure
PANEL_TITLE = {"showarrow": False, "font": {"size": 16}, "xanchor": "center", "yanchor": "bottom"}


def pooling_colour(name: str) -> str:
    """The colour of the lines of a pooling; the model default, and a pooling without a colour, has that of a choice."""
    return (POOLINGS[name].colour if name in POOLINGS else "") or ACCENT


def pooling_symbol(name: str) -> str:
    """The symbol of the points of a pooling."""
    return POOLINGS[name].symbol


def set_text(figure: go.Figure, ink: str, scale: float = 1.0) -> None:
    """Write a figure in the colour `ink`, `scale` times as large; cells whose text has a colour keep it."""
    axes = [name for name in figure.layout if re.fullmatch(r"[xy]axis\d*", name)]
    if scale != 1:
        layout = figure.layout.to_plotly_json()
        figure.for_each_annotation(lambda note: note.update(font_size=scale * (note.font.size or TEXT)))
        for trace in figure.data:
            if "textfont" in trace and trace.textfont.size is not None:
                trace.textfont.size = scale * trace.textfont.size
        margin = layout.get("margin", {})
        font = {"size": scale * TEXT}
        larger: dict[str, Any] = {"font": font, "legend": {"font": font}, "hoverlabel": {"font": font}}
        larger["margin"] = {side: round(scale * margin[side]) for side in margin}
        if "height" in layout:
            # panels one above another, and a map of one scale, need room for text inside; elsewhere the margins do
            panels = {name: layout[name] for name in axes if name in layout}
            stacked = len({tuple(of.get("domain", ())) for name, of in panels.items() if name.startswith("yaxis")}) > 1
            grows = stacked or any("scaleanchor" in of for of in panels.values())
            text = layout["height"] if grows else margin.get("t", 0) + margin.get("b", 0)
            larger["height"] = layout["height"] + round((scale - 1) * text)
        figure.update_layout(larger)
        for control in (*figure.layout.sliders, *figure.layout.updatemenus):  # below the labels of the axes
            control.pad.t = scale * (control.pad.t or 0)
    figure.layout.font.color = ink
    # stated for each axis, because a template's colour of axes is stronger than that of the whole figure; each axis is
    # set as a whole, because to change its parts takes plotly five times as long
    for name in axes:
        axis = figure.layout[name].to_plotly_json()
        ticks, title = axis.setdefault("tickfont", {}), axis.setdefault("title", {}).setdefault("font", {})
        ticks["color"] = title["color"] = ink
        if scale != 1:
            ticks["size"], title["size"] = scale * ticks.get("size", TEXT), scale * AXIS_TITLE
        figure.layout[name] = axis


# the luminance on which black and white text have the same contrast (WCAG 2.2: (L + .05) / (.05) = 1.05 / (L + .05))
EVEN = (1.05 * 0.05) ** 0.5 - 0.05


def text_colours(values: NDArray[np.float64], low: float, high: float, scale: ColourStops = GRID_SCALE) -> list[str]:
    """Black or white for each value, whichever has more contrast with its colour on a scale."""
    parts = np.array(_sampled(values, low, high, scale)).reshape(-1, 3)
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    luminances = linear @ [0.2126, 0.7152, 0.0722]  # as WCAG defines it
    return ["#000000" if luminance > EVEN else "#ffffff" for luminance in luminances]


def scale_colours(values: NDArray[np.float64], low: float, high: float, scale: ColourStops = GRID_SCALE) -> list[str]:
    """The colour of each value on a scale: `#dddddd`."""
    return ["#" + "".join(f"{round(255 * part):02x}" for part in rgb) for rgb in _sampled(values, low, high, scale)]


def _sampled(
    values: NDArray[np.float64], low: float, high: float, scale: ColourStops
) -> list[tuple[float, float, float]]:
    """The colour of each value on a scale, with parts from 0 to 1."""
    from plotly.colors import sample_colorscale

    shares = np.clip(np.nan_to_num((values.ravel() - low) / max(high - low, 1e-9)), 0, 1)
    listed = scale if isinstance(scale, str) else [list(stop) for stop in scale]  # of tuples it makes nothing
    found: list[tuple[float, float, float]] = sample_colorscale(listed, shares.tolist(), colortype="tuple")
    return found


def cosine_bar(random_pairs: Mapping[str, float] | None = None, **settings: Any) -> dict[str, Any]:
    """The legend of colours of cosines, with the mean cosine of random pairs of each side (its name) marked."""
    marks = {name: mean for name, mean in (random_pairs or {}).items() if math.isfinite(mean)}
    plain = [tick for tick in (-0.2, 0.0, 0.5, 1.0) if all(abs(tick - mean) > 0.12 for mean in marks.values())]
    texts = [in_words.number(tick, 1) for tick in plain]
    texts += [" ".join(filter(None, (f"{in_words.number(mean)} {RANDOM}", name))) for name, mean in marks.items()]
    ticks = {"tickmode": "array", "tickvals": [*plain, *marks.values()], "ticktext": texts, "ticks": "outside"}
    return {"thickness": 10, "outlinewidth": 0, **ticks, **settings}


def certainty(low: float, high: float) -> str:
    """The colour of a difference with this interval."""
    return GAIN if low > 0 else LOSS if high < 0 else CHANCE


def error_bars(middle: ArrayLike, low: ArrayLike, high: ArrayLike, **style: Any) -> dict[str, Any]:
    """The bars of an interval around a point."""
    above, below = np.subtract(high, middle), np.subtract(middle, low)
    return {"type": "data", "symmetric": False, "array": above, "arrayminus": below, **style}


def short_text(text: str, most: int = 32) -> str:
    """The beginning of a sentence for a legend: one line, escaped."""
    line = " ".join(text.split())
    return escape(line if len(line) <= most else line[: most - 1].rstrip() + "…", quote=False)


@lru_cache(maxsize=8192)  # every rerun draws figures of hundreds of points, and wrapping takes most of that time
def hover_text(text: str, width: int = 60, most: int = 240) -> str:
    """A sentence for hover text: escaped, wrapped, and truncated if very long."""
    if len(text) > most:
        text = text[: most - 1] + "…"
    # plotly does not decode &quot;, and a quote is harmless outside an attribute
    return "<br>".join(escape(line, quote=False) for line in wrap(text, width))


def written(values: NDArray[np.floating[Any]], write: Callable[[float], str] = in_words.number) -> NDArray[np.str_]:
    """Numbers as they are shown, in an array of the same shape."""
    return np.reshape([write(value) for value in values.ravel().tolist()], values.shape)


class Draft:
    """A figure in the making: one panel, or panels in rows and columns, counted from 1 at the top left.

    plotly checks the layout again at each update_layout, update_xaxes and add_hline, and copies it too. Given all of
    it in one dictionary, it checks everything once, in a fifth of the time.

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
        heights, widths = _domains(rows, down)[::-1], _domains(cols, across)
        for place, (x, y) in enumerate(zip(self._x, self._y, strict=True) if self._several else ()):
            height, width = heights[place // cols], widths[place % cols]
            x |= {"anchor": _axis("y", place), "domain": width}
            y |= {"anchor": _axis("x", place), "domain": height}
            lowest = place % cols + (rows - 1) * cols
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

    @property
    def traces(self) -> int:
        """How many traces there are: the number of the next one."""
        return len(self._traces)

    def points(self, **trace: Any) -> None:
        """A marker at each point."""
        self.add("scatter", **{"mode": "markers", **trace})

    def texts(self, **trace: Any) -> None:
        """A text at each point, without a marker."""
        self.add("scatter", mode="text", hoverinfo="skip", **trace)

    def path(self, **trace: Any) -> None:
        """A line through points, without markers."""
        self.add("scatter", mode="lines", **trace)

    def curve(self, colour: str, *, width: float = 2.5, size: float = 8, dash: str = "", **trace: Any) -> None:
        """A line with a marker at each point."""
        line = {"color": colour, "width": width, **({"dash": dash} if dash else {})}
        self.add("scatter", **{"mode": "lines+markers", "line": line, "marker": {"size": size}, **trace})

    def numbers(
        self,
        values: NDArray[Any],
        span: tuple[float, float],
        scale: ColourStops = GRID_SCALE,
        *,
        texts: NDArray[np.str_],
        size: int = 11,
        places: Sequence[int] | None = None,
    ) -> None:
        """The text of every cell (row, column) with a number, in black or white; `places` are those on the axes."""
        rows, columns = np.nonzero(np.isfinite(values))
        on_axis = np.asarray(places or range(max(values.shape)))
        colours = np.reshape(text_colours(np.asarray(values, dtype=np.float64), *span, scale), values.shape)
        self.texts(
            x=on_axis[columns],
            y=on_axis[rows],
            text=texts[rows, columns].tolist(),
            textfont={"size": size, "color": colours[rows, columns].tolist()},
            showlegend=False,
        )

    def line(self, *, x: float | None = None, y: float | None = None, row: int = 1, col: int = 1, **style: Any) -> None:
        """A line across a panel, at one x or one y."""
        place = self._panel(row, col)
        x_axis, y_axis = _axis("x", place), _axis("y", place)
        if y is None:
            ends = {"x0": x, "x1": x, "xref": x_axis, "y0": 0, "y1": 1, "yref": f"{y_axis} domain"}
        else:
            ends = {"x0": 0, "x1": 1, "xref": f"{x_axis} domain", "y0": y, "y1": y, "yref": y_axis}
        self._lines.append({"type": "line", **ends, "line": style})

    def level(self, y: float, text: str, *, colour: str = QUIET, dash: str = "dash", right: bool = False) -> None:
        """A broken line across at one y, with a text above its left or right end."""
        self.line(y=y, color=colour, dash=dash, width=1.5)
        end = {"x": 1, "xanchor": "right"} if right else {"x": 0, "xanchor": "left"}
        self.note(text, **end, xref="paper", y=y, yanchor="bottom")

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


def _axis(name: str, place: int) -> str:
    """Plotly's name of an axis: the first has no number."""
    return f"{name}{place + 1}" if place else name


def _domains(count: int, gap: float) -> list[list[float]]:
    """The two ends of each of several parts of equal size, as shares of the whole."""
    size = (1 - gap * (count - 1)) / count
    return [[part * (size + gap), min(1.0, part * (size + gap) + size)] for part in range(count)]
