"""Maps of sentences in two and three dimensions, coloured by attribute, and of very many points on a canvas."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from explorer import in_words
from explorer.data.set_items import Attribute
from explorer.data.text_sets import Sentences
from explorer.drawing.style import GRID_SCALE, MODEL_COLOURS, QUIET, Draft, hover_text, short_text

Places = NDArray[np.float32]

RING = "#E0218A"  # of selected sentences in three dimensions; not a colour of a category
SHARP = 5000  # most sentences that are drawn as vector graphics; more as WebGL
FEW = 60  # fewer sentences than this are written on the map
HALF = 0.0064  # of the width of the narrowest map: half a character of a cluster's name
HEIGHT = 460
MARGIN = {"l": 0, "r": 0, "t": 8, "b": 8}
LEGEND = {"y": 0, "yanchor": "top", "itemsizing": "constant"}
# safe for colour-blind readers, on white and on black (after Okabe and Ito)
NAME_COLOURS = (*MODEL_COLOURS[:-1], "#56B4E9")
OTHERS, MISSING = "others", "missing"
ENDS = 0.02  # share of sentences at either end that is clipped, so that an outlier does not compress the scale
MANY = 200  # sentences from which on the scale is clipped
LONGEST_TEXT, LONGEST_NAME = 80, 40  # characters of a sentence that are shown on hover, and of a name
CANVAS_HEIGHT = 560
CANVAS_HTML = f"""
<div class="density-map">
  <div class="bar"><button class="in" title="Zoom in" aria-label="Zoom in">+</button>
  <button class="out" title="Zoom out" aria-label="Zoom out">−</button>
  <button class="all" title="Show all" aria-label="Show all">⤢</button><span class="told"></span></div>
  <canvas height="{CANVAS_HEIGHT}" role="img" aria-label="Map of the sentences"></canvas><div class="tip" hidden></div>
</div>
"""
CANVAS_CSS = """
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


def spans(*maps: Places) -> list[tuple[float, float]]:
    """The range of every axis, the same for every map, so that distances can be compared."""
    every = np.concatenate(maps)
    middle = (every.max(0) + every.min(0)) / 2
    halves = (every.max(0) - every.min(0)) / 2 * 1.06
    halves = np.maximum(halves, float(halves.max()) / 4 or 1.0)  # minimum width for degenerate maps
    return [(float(one) - float(half), float(one) + float(half)) for one, half in zip(middle, halves, strict=True)]


def flat_map(
    places: Places,
    span: Sequence[tuple[float, float]],
    described: Sentences,
    colour: Attribute,
    selected: Sequence[int] | None,
    clusters: Sequence[tuple[str, tuple[float, float]]] = (),
) -> go.Figure:
    """A map in two dimensions with selectable sentences; `customdata` is a sentence's number.

    A few sentences are written next to their points; of many, the names of clusters are written at their centres.
    """
    draft = Draft()
    for name, shade, ends in _lines(places, described):
        line = {"color": shade, "width": 1.5}
        draft.path(**ends, name=name, showlegend=False, hoverinfo="skip", line=line, opacity=0.6)
    size = _size(len(places))
    for at, points in _points(places, described, colour, size):
        draft.add(
            "scatter" if len(places) <= SHARP else "scattergl",
            **points,
            customdata=at.astype(np.int32),
            selectedpoints=None if selected is None else np.flatnonzero(np.isin(at, selected)).tolist(),
            selected={"marker": {"opacity": 1, "size": size + 4}},
            unselected={"marker": {"opacity": 0.15}},
        )
    if len(places) < FEW:
        draft.texts(
            x=places[:, 0],
            y=places[:, 1],
            text=[short_text(text, 28) for text in described.texts],
            textposition="top center",
            textfont={"size": 10},
            showlegend=False,
        )
    _add_names(draft, clusters, span[0])
    axis: dict[str, Any] = {"showticklabels": False, "zeroline": False, "showgrid": False, "title": None}
    draft.x_axes(range=span[0], constrain="domain", **axis)
    draft.y_axes(range=span[1], scaleanchor="x", constrain="domain", **axis)
    return draft.figure(HEIGHT, margin=MARGIN, legend=LEGEND, dragmode="lasso")


def _add_names(draft: Draft, clusters: Sequence[tuple[str, tuple[float, float]]], across: tuple[float, float]) -> None:
    """The names of clusters at their centres; `across` is the range of x."""
    left, right = across
    for name, (x, y) in clusters:
        label, share = short_text(name, 40), (x - left) / (right - left)
        half = HALF * len(label)  # a name at the edge is written towards the middle
        draft.note(
            label,
            x=x,
            y=y,
            xanchor="left" if share < half else "right" if share > 1 - half else "center",
            font={"size": 11, "color": "#ffffff"},
            bgcolor="rgba(27,42,46,0.72)",
            borderpad=2,
        )


def deep_map(
    places: Places,
    span: Sequence[tuple[float, float]],
    described: Sentences,
    colour: Attribute,
    selected: Sequence[int] | None,
) -> go.Figure:
    """A rotatable map in three dimensions; selected sentences have a ring."""
    draft = Draft()
    size = _size(len(places)) / 2
    for _, shade, ends in _lines(places, described):
        line = {"color": shade, "width": 2}
        draft.add("scatter3d", **ends, mode="lines", showlegend=False, hoverinfo="skip", line=line)
    for _, points in _points(places, described, colour, size):
        points["marker"]["opacity"] = 0.25 if selected else 0.85
        draft.add("scatter3d", **points)
    if selected:
        texts = hover_texts(described, colour)
        at = np.asarray(selected, dtype=np.intp)
        draft.add(
            "scatter3d",
            **_axes(places[at]),
            mode="markers",
            marker={"size": size + 6, "color": RING, "symbol": "circle-open"},
            hovertext=[texts[place] for place in at],
            hovertemplate="%{hovertext}<extra></extra>",
            showlegend=False,
        )
    axis = {"showticklabels": False, "title": "", "showspikes": False, "backgroundcolor": "rgba(0,0,0,0)"}
    axis |= {"gridcolor": QUIET, "zerolinecolor": QUIET}
    names = ("xaxis", "yaxis", "zaxis")
    scene = {name: axis | {"range": one} for name, one in zip(names, span, strict=True)}
    return draft.figure(HEIGHT, margin=MARGIN, legend=LEGEND, scene={"aspectmode": "data", **scene})


def _lines(places: Places, described: Sentences) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The name, the colour and the ends of the lines of each group."""
    kinds = described.columns[0].cells if described.lines else ()
    for name in dict.fromkeys(str(kinds[one]) for one, _ in described.lines):
        ends = np.array([line for line in described.lines if kinds[line[0]] == name], dtype=np.intp)
        of_name = (group.colour for group in groups(described.columns[0]) if group.name == name)
        yield name, next(of_name, None) or QUIET, _axes(segments(places[ends[:, 0]], places[ends[:, 1]]))


def segments(starts: NDArray[Any], ends: NDArray[Any]) -> NDArray[np.float32]:
    """Points (point, axis) of lines from starts to ends (line, axis), with a gap after each line."""
    points = np.full((len(starts) * 3, starts.shape[1]), np.nan, dtype=np.float32)
    points[0::3], points[1::3] = starts, ends
    return points


def _points(
    places: Places, described: Sentences, colour: Attribute, size: float
) -> Iterator[tuple[NDArray[np.intp], dict[str, Any]]]:
    """The numbers of the sentences in each group, and their points."""
    texts = hover_texts(described, colour)
    for group in groups(colour):
        at = group.members
        yield (
            at,
            {
                **_axes(places[at]),
                "mode": "markers",
                "name": short_text(group.name, 24),
                "marker": marker(group, colour, size),
                "hovertext": [texts[place] for place in at],
                "hovertemplate": "%{hovertext}<extra></extra>",
                "showlegend": group.colour is not None,
            },
        )


def _axes(places: Places) -> dict[str, Any]:
    return dict(zip("xyz", places.T, strict=False))


def _size(count: int) -> float:
    return 9 if count <= 200 else 6 if count <= 1000 else 5 if count <= SHARP else 4


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


def hover_texts(described: Sentences, colour: Attribute) -> list[str]:
    """Hover text: the beginning of the sentence, and the value that colours it."""
    texts, most = [], 240 if len(described) <= SHARP else 100
    for text, cell in zip(described.texts, tuple[float | str, ...](colour.cells), strict=True):
        if isinstance(cell, str):
            value = short_text(cell, 40) if cell else MISSING
        else:
            value = f"{cell:.3g}" if np.isfinite(cell) else MISSING
        texts.append(f"{hover_text(text, most=most)}<br><b>{short_text(colour.name, 40)}</b> {value}")
    return texts


def marker(group: Group, colour: Attribute, size: float) -> dict[str, Any]:
    """The marker style of a group; numbers with a colour scale."""
    # keeps pale points visible on white and dark ones on black
    outline = {"width": 0.5, "color": "rgba(128,128,128,0.6)"}
    if group.colour is not None:
        return {"size": size, "color": group.colour, "line": outline, "opacity": 0.85}
    values = np.asarray([colour.cells[place] for place in group.members], dtype=np.float32)
    ends = ENDS if len(values) >= MANY else 0.0
    low, high = (float(end) for end in np.quantile(values, (ends, 1 - ends)))
    clipped = float(values.min()) < low or float(values.max()) > high
    title = short_text(colour.name, 40) + (f", middle {in_words.percent(1 - 2 * ends)}" if clipped else "")
    below = {"y": 0, "yanchor": "top", "title": {"text": title, "side": "top"}}
    return {
        "size": size,
        "color": values,
        "cmin": low,
        "cmax": high if high > low else low + 1,
        "colorscale": GRID_SCALE,
        "line": outline,
        "opacity": 0.85,
        "showscale": True,
        "colorbar": {"orientation": "h", "thickness": 10, "len": 0.9, "tickformat": ".2~f", **below},
    }


@cache
def canvas_script() -> str:
    """The code that draws it."""
    return Path(__file__).with_name("density_map.js").read_text(encoding="utf-8")


def canvas_content(
    places: NDArray[np.float32], texts: Sequence[str], names: Sequence[tuple[str, tuple[float, float]]]
) -> dict[str, object]:
    """Positions (sentence, axis), the beginning of each sentence, and names with their positions, as the code reads."""
    low, high = places.min(0), places.max(0)
    least = max(float((high - low).max()), 1e-6) / 4  # of an axis on which all are equal
    room = np.maximum(least - (high - low), 0) / 2
    return {
        "places": base64.b64encode(np.ascontiguousarray(places, dtype="<f4").tobytes()).decode(),
        "texts": [_short(text, LONGEST_TEXT) for text in texts],
        "names": [[_short(name, LONGEST_NAME), *where] for name, where in names],
        "low": (low - room).tolist(),
        "high": (high + room).tolist(),
    }


def _short(text: str, most: int) -> str:
    """The beginning of a text; it is shown as text, not as markup."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
