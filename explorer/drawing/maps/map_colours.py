"""Which colour does what is known of a sentence have on a map?"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.data.map_sentences import Column, Described
from explorer.drawing.style import GRID_SCALE, QUIET, hover_text, short_text

# told apart by colour-blind readers, and on white as on black (after Okabe and Ito)
NAME_COLOURS = ("#0094D6", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#8C6BB1", "#B8860B", "#56B4E9")
OTHERS, MISSING = "others", "missing"
ENDS = 0.02  # of the sentences at either end have the colour of the end: one far out would leave all others alike
MANY = 200  # sentences from which on that is so


@dataclass(frozen=True, eq=False)
class Group:
    """Sentences of one colour, by their numbers; or, in a group without a colour, coloured by their numbers' values."""

    name: str
    members: NDArray[np.intp]
    colour: str | None = None


def groups(colour: Column) -> list[Group]:
    """Names by how many sentences have them, those beyond the colours as one; or all numbers, and those missing."""
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
    return [*(group for group in left if len(group.members)), *found]  # drawn first, so that they cover nothing


def colour_of(described: Described, name: str) -> str:
    """The colour that the group has where it is coloured by its name."""
    return next((group.colour or QUIET for group in groups(described.columns[0]) if group.name == name), QUIET)


def hover_texts(described: Described, colour: Column, most: int) -> list[str]:
    """What hovering says: so many characters of the sentence, and by what it is coloured."""
    return [
        f"{hover_text(text, most=most)}<br><b>{short_text(colour.name, 40)}</b> {_told(cell)}"
        for text, cell in zip(described.texts, tuple[float | str, ...](colour.cells), strict=True)
    ]


def marker(group: Group, colour: Column, size: float) -> dict[str, Any]:
    """How the sentences of a group are drawn; numbers come with their scale."""
    outline = {"width": 0.5, "color": "rgba(128,128,128,0.6)"}  # pale on white and dark on black are seen, too
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
