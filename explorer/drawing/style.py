"""Which colour, which symbol, how a sentence stands in a hover box?"""

from __future__ import annotations

from html import escape
from textwrap import wrap

# told apart by colour-blind readers, and on white as on black (after Okabe and Ito)
POOLING_COLOURS = {"cls": "#D55E00", "mean": "#009E73", "max": "#0094D6"}
POOLING_SYMBOLS = {"cls": "square", "mean": "circle", "max": "triangle-up"}
GRID_SCALE = "Viridis"
ACCENT = "#E69F00"
QUIET = "#8A8F98"


def hover_text(text: str, width: int = 60, most: int = 240) -> str:
    """A sentence for a hover box: shown as it is typed, never read as markup, wrapped, and cut when very long."""
    if len(text) > most:
        text = text[: most - 1] + "…"
    return "<br>".join(escape(line) for line in wrap(text, width))
