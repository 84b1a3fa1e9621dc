"""A map of very many points for the browser: their density from afar, and the points themselves when zoomed in."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

LONGEST, LONGEST_NAME = 80, 40  # characters of a sentence that are shown on hover, and of a name
HEIGHT = 560
HTML = f"""
<div class="density-map">
  <div class="bar"><button class="in" title="Zoom in" aria-label="Zoom in">+</button>
  <button class="out" title="Zoom out" aria-label="Zoom out">−</button>
  <button class="all" title="Show all" aria-label="Show all">⤢</button><span class="told"></span></div>
  <canvas height="{HEIGHT}" role="img" aria-label="Map of the sentences"></canvas><div class="tip" hidden></div>
</div>
"""
CSS = """
.density-map { position: relative; width: 100%; font-family: var(--st-font, sans-serif); }
.density-map canvas { display: block; touch-action: none; cursor: grab; border: 1px solid var(--st-border-color, #8884);
  border-radius: 6px; }
.density-map canvas:active { cursor: grabbing; }
.density-map .bar { display: flex; gap: 6px; align-items: center; margin-bottom: 6px; }
.density-map .told { color: var(--st-text-color, #555); font-size: 0.85rem; }
.density-map button { min-width: 30px; height: 30px; border: 1px solid var(--st-border-color, #8888);
  border-radius: 6px; background: transparent; color: var(--st-text-color, #555); cursor: pointer; }
.density-map .tip { position: absolute; max-width: 250px; padding: 4px 8px; border-radius: 6px; font-size: 0.8rem;
  pointer-events: none; background: rgba(27,42,46,0.92); color: #fff; z-index: 2; margin-top: 36px; }
"""


@cache
def script() -> str:
    """The code that draws it."""
    return Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


def content(
    places: NDArray[np.float32], texts: Sequence[str], names: Sequence[tuple[str, tuple[float, float]]]
) -> dict[str, object]:
    """Positions (sentence, axis), the beginning of each sentence, and names with their positions, as the code reads."""
    low, high = places.min(0), places.max(0)
    least = max(float((high - low).max()), 1e-6) / 4  # of an axis on which all are equal
    room = np.maximum(least - (high - low), 0) / 2
    return {
        "places": base64.b64encode(np.ascontiguousarray(places, dtype="<f4").tobytes()).decode(),
        "texts": [_short(text, LONGEST) for text in texts],
        "names": [[_short(name, LONGEST_NAME), *where] for name, where in names],
        "low": (low - room).tolist(),
        "high": (high + room).tolist(),
    }


def _short(text: str, most: int) -> str:
    """The beginning of a text; it is shown as text, not as markup."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
