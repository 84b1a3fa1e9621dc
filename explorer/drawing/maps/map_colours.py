"""Colours and hover text of sentences on a map, by category or by number."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.data.kinds import Attribute, Sentences
from explorer.drawing.parts.style import GRID_SCALE, QUIET, hover_text, short_text

# safe for colour-blind readers, on white and on black (after Okabe and Ito)
NAME_COLOURS = ("#0094D6", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#8C6BB1", "#B8860B", "#56B4E9")
OTHERS, MISSING = "others", "missing"
ENDS = 0.02  # share of sentences at either end that is clipped, so that an outlier does not compress the scale
MANY = 200  # sentences from which on the scale is clipped


@dataclass(frozen=True, eq=False)
class Group:
    """Sentences of one colour, by their numbers; or, in a group without a colour, coloured by their numbers' values."""

    name: str
    members: NDArray[np.intp]
    colour: str | None = None


def groups(colour: Attribute) -> list[Group]:
    """Groups by name, most frequent first, the rest as one; or all numbers, and those missing."""
    if colour.counts:
        there = np.isfinite(np.asarray(colour.cells, dtype=np.float64))
        found = [Group(colour.name, np.nonzero(there)[0])] if there.any() else []
        return [*found, *([] if there.all() else [Group(MISSING, np.nonzero(~there)[0], QUIET)])]
    named = [name for name, _ in Counter(cell for cell in colour.cells if cell).most_common(len(NAME_COLOURS))]
    found = [
        Group(str(name), np.array([at for at, cell in enumerate(colour.cells) if cell == name], dtype=np.intp), shade)
        for name, shade in zip(named, NAME_COLOURS, strict=False)
    ]
    known = set(named)
    rest = [at for at, cell in enumerate(colour.cells) if cell and cell not in known]
    missing = [at for at, cell in enumerate(colour.cells) if not cell]
    left = [
        Group(name, np.array(places, dtype=np.intp), QUIET) for name, places in ((OTHERS, rest), (MISSING, missing))
    ]
    return [*(group for group in left if len(group.members)), *found]  # drawn first, so that they are behind the others


def colour_of(described: Sentences, name: str) -> str:
    """The colour of a group that is coloured by its name."""
    return next((group.colour or QUIET for group in groups(described.columns[0]) if group.name == name), QUIET)


def hover_texts(described: Sentences, colour: Attribute, most: int) -> list[str]:
    """Hover text: the beginning of the sentence, and the value that colours it."""
    return [
        f"{hover_text(text, most=most)}<br><b>{short_text(colour.name, 40)}</b> {_told(cell)}"
        for text, cell in zip(described.texts, tuple[float | str, ...](colour.cells), strict=True)
    ]


def marker(group: Group, colour: Attribute, size: float) -> dict[str, Any]:
    """The marker style of a group; numbers with a colour scale."""
    outline = {
        "width": 0.5,
        "color": "rgba(128,128,128,0.6)",
    }  # keeps pale points visible on white and dark ones on black
    if group.colour is not None:
        return {"size": size, "color": group.colour, "line": outline, "opacity": 0.85}
    values = np.asarray([colour.cells[place] for place in group.members], dtype=np.float32)
    ends = ENDS if len(values) >= MANY else 0.0
    low, high = (float(end) for end in np.quantile(values, (ends, 1 - ends)))
    clipped = float(values.min()) < low or float(values.max()) > high
    title = short_text(colour.name, 40) + (f", middle {1 - 2 * ends:.0%}" if clipped else "")
    return {
        "size": size,
        "color": values,
        "cmin": low,
        "cmax": high if high > low else low + 1,
        "colorscale": GRID_SCALE,
        "line": outline,
        "opacity": 0.85,
        "showscale": True,
        "colorbar": {
            "orientation": "h",
            "y": 0,
            "yanchor": "top",
            "thickness": 10,
            "len": 0.9,
            "tickformat": ".2~f",
            "title": {"text": title, "side": "top"},
        },
    }


def _told(cell: float | str) -> str:
    if isinstance(cell, str):
        return short_text(cell, 40) if cell else MISSING
    return f"{cell:.3g}" if np.isfinite(cell) else MISSING
