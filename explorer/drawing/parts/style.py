"""Colours, symbols and text formats shared by figures."""

from __future__ import annotations

from html import escape
from textwrap import wrap

import numpy as np
from numpy.typing import NDArray

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


def text_colours(values: NDArray[np.float64], low: float, high: float) -> list[str]:
    """Black or white for each value, whichever has more contrast with its colour on the grid's scale."""
    from plotly.colors import sample_colorscale

    shares = np.nan_to_num((values.ravel() - low) / max(high - low, 1e-9))
    backgrounds = sample_colorscale(GRID_SCALE, shares.tolist(), colortype="tuple")
    return ["#000000" if _luminance(rgb) > EVEN else "#ffffff" for rgb in backgrounds]


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
