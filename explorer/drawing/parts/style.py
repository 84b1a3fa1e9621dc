"""Colours, symbols and text formats shared by figures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import plotly.graph_objects as go

# safe for colour-blind readers, on white and on black (after Okabe and Ito)
POOLING_COLOURS = {"cls": "#D55E00", "mean": "#009E73", "max": "#0094D6", "last": "#CC79A7"}
POOLING_SYMBOLS = {"cls": "square", "mean": "circle", "max": "triangle-up", "last": "diamond"}
# the two sentences of a pair; not colours of a pooling
SIDES = ("#8C6BB1", "#B8860B")
GRID_SCALE = "Viridis"
# loss, zero, gain; safe for colour-blind readers (after ColorBrewer's PuOr)
DIFFERENCE_SCALE = ((0.0, "#7F3B08"), (0.5, "#DDDDDD"), (1.0, "#2D5A9E"))
ACCENT = "#E69F00"
QUIET = "#8A8F98"
# safe for colour-blind readers, on white and on black (after Okabe and Ito)
MODEL_COLOURS = ("#0094D6", "#D55E00", "#009E73", "#CC79A7", ACCENT, "#8C6BB1", "#B8860B", QUIET)
MODEL_SYMBOLS = ("circle", "square", "triangle-up", "diamond", "cross", "x", "star", "hexagon")

TEXT, AXIS_TITLE = 12, 14  # pixels, where a figure states no size


def set_text(figure: go.Figure, ink: str, scale: float = 1.0) -> None:
    """Write a figure in the colour `ink`, `scale` times as large; cells whose text has a colour keep it."""
    layout = figure.layout.to_plotly_json()
    if scale != 1:
        figure.update_layout(_larger(figure, layout, scale))
        figure.layout.font.size = scale * TEXT
    figure.layout.font.color = ink
    # stated for each axis, because a template's colour of axes is stronger than that of the whole figure; one by one,
    # because that takes half as long as an update
    for name in {"xaxis", "yaxis", *(name for name in layout if re.fullmatch(r"[xy]axis\d+", name))}:
        ticks, title = figure.layout[name].tickfont, figure.layout[name].title.font
        ticks.color = title.color = ink
        if scale != 1:
            ticks.size, title.size = scale * (ticks.size or TEXT), scale * AXIS_TITLE


def _larger(figure: go.Figure, layout: dict[str, Any], scale: float) -> dict[str, Any]:
    """What else of the layout grows with its text; the texts of traces and the notes are changed at once."""
    figure.for_each_annotation(lambda note: note.update(font_size=scale * (note.font.size or TEXT)))
    for trace in figure.data:
        if "textfont" in trace and trace.textfont.size is not None:
            trace.textfont.size = scale * trace.textfont.size
    margin = layout.get("margin", {})
    axes = [of for name, of in layout.items() if re.fullmatch(r"[xy]axis\d*", name)]
    stacked = len({tuple(of.get("domain", ())) for name, of in layout.items() if name.startswith("yaxis")}) > 1
    # panels one above another, and a map of one scale, need room for text inside; elsewhere the margins alone do
    grows = stacked or any("scaleanchor" in of for of in axes)
    changes: dict[str, Any] = {
        "legend": {"font": {"size": scale * TEXT}},
        "hoverlabel": {"font": {"size": scale * TEXT}},
        "margin": {side: round(scale * margin[side]) for side in margin},
    }
    if "height" in layout:
        text = layout["height"] if grows else margin.get("t", 0) + margin.get("b", 0)
        changes["height"] = layout["height"] + round((scale - 1) * text)
    return changes


def text_colours(
    values: NDArray[np.float64], low: float, high: float, scale: str | Sequence[tuple[float, str]] = GRID_SCALE
) -> list[str]:
    """Black or white for each value, whichever has more contrast with its colour on a scale."""
    return ["#000000" if _luminance(rgb) > EVEN else "#ffffff" for rgb in _sampled(values, low, high, scale)]


def scale_colours(
    values: NDArray[np.float64], low: float, high: float, scale: str | Sequence[tuple[float, str]] = GRID_SCALE
) -> list[str]:
    """The colour of each value on a scale: `#dddddd`."""
    return ["#" + "".join(f"{round(255 * part):02x}" for part in rgb) for rgb in _sampled(values, low, high, scale)]


def _sampled(
    values: NDArray[np.float64], low: float, high: float, scale: str | Sequence[tuple[float, str]]
) -> list[tuple[float, float, float]]:
    """The colour of each value on a scale, with parts from 0 to 1."""
    from plotly.colors import sample_colorscale

    shares = np.clip(np.nan_to_num((values.ravel() - low) / max(high - low, 1e-9)), 0, 1)
    listed = scale if isinstance(scale, str) else [list(stop) for stop in scale]  # of tuples it makes nothing
    found: list[tuple[float, float, float]] = sample_colorscale(listed, shares.tolist(), colortype="tuple")
    return found


# the luminance on which black and white text have the same contrast (WCAG 2.2: (L + .05) / (.05) = 1.05 / (L + .05))
EVEN = (1.05 * 0.05) ** 0.5 - 0.05


def _luminance(rgb: tuple[float, float, float]) -> float:
    """Relative luminance of a colour with parts from 0 to 1, as WCAG defines it."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in rgb]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def short_text(text: str, most: int = 32) -> str:
    """The beginning of a sentence for a legend: one line, escaped."""
    line = " ".join(text.split())
    return escape(line if len(line) <= most else line[: most - 1].rstrip() + "…", quote=False)


def hover_text(text: str, width: int = 60, most: int = 240) -> str:
    """A sentence for hover text: escaped, wrapped, and truncated if very long."""
    if len(text) > most:
        text = text[: most - 1] + "…"
    # plotly does not decode &quot;, and a quote is harmless outside an attribute
    return "<br>".join(escape(line, quote=False) for line in wrap(text, width))
