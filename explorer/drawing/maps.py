"""What do maps of sentences look like, coloured by what is known of each?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from explorer.data.described import Column, Described
from explorer.drawing.segments import segments
from explorer.drawing.style import GRID_SCALE, QUIET, hover_text, short_text

Places = NDArray[np.float32]

# told apart by colour-blind readers, and on white as on black (after Okabe and Ito)
NAME_COLOURS = ("#0094D6", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#8C6BB1", "#B8860B", "#56B4E9")
RING = "#E0218A"  # round what is selected in three dimensions; no name has it
OTHERS, MISSING = "others", "missing"
SHARP = 5000  # sentences up to which a map is drawn in lines and circles, which stay so in a file; above, as a picture
ENDS = 0.02  # of the sentences at either end have the colour of the end: one far out would leave all others alike
MANY = 200  # sentences from which on that is so
HEIGHT = 460


@dataclass(frozen=True, eq=False)
class Group:
    """Sentences of one colour, by their numbers; or, in a group without a colour, coloured by their numbers' values."""

    name: str
    members: NDArray[np.intp]
    colour: str | None = None


def spans(*maps: Places) -> list[tuple[float, float]]:
    """The range of every axis, the same for every map, so that a distance is the same everywhere."""
    every = np.concatenate(maps)
    middle = (every.max(0) + every.min(0)) / 2
    halves = (every.max(0) - every.min(0)) / 2 * 1.06
    halves = np.maximum(halves, float(halves.max()) / 4 or 1.0)  # a line has room beside it, too
    return [(float(one) - float(half), float(one) + float(half)) for one, half in zip(middle, halves, strict=True)]


def flat_map(
    places: Places,
    span: Sequence[tuple[float, float]],
    described: Described,
    colour: Column,
    selected: Sequence[int] | None,
) -> go.Figure:
    """A map of two dimensions, in which sentences can be selected; `customdata` is a sentence's number."""
    figure = go.Figure()
    texts = hover_texts(described, colour)
    for name, one, other in _joined(described):
        ends = segments(places[one], places[other])
        figure.add_scatter(
            x=ends[:, 0], y=ends[:, 1], mode="lines", name=name, showlegend=False, hoverinfo="skip",
            line={"color": _colour_of(described, name), "width": 1.5}, opacity=0.6,
        )  # fmt: skip
    draw = go.Scatter if len(places) <= SHARP else go.Scattergl
    size = _size(len(places))
    lit = None if selected is None else set(selected)
    for group in groups(colour):
        at = group.members
        figure.add_trace(
            draw(
                x=places[at, 0],
                y=places[at, 1],
                mode="markers",
                name=short_text(group.name, 24),
                marker=_marker(group, colour, size),
                customdata=at.astype(np.int32),
                hovertext=[texts[place] for place in at],
                hovertemplate="%{hovertext}<extra></extra>",
                showlegend=group.colour is not None,
                selectedpoints=None if lit is None else [row for row, place in enumerate(at.tolist()) if place in lit],
                selected={"marker": {"opacity": 1, "size": size + 4}},
                unselected={"marker": {"opacity": 0.15}},
            )
        )
    axis: dict[str, Any] = {"showticklabels": False, "zeroline": False, "showgrid": False, "title": None}
    figure.update_xaxes(range=span[0], constrain="domain", **axis)
    figure.update_yaxes(range=span[1], scaleanchor="x", constrain="domain", **axis)
    return _laid_out(figure).update_layout(dragmode="lasso", hovermode="closest")


def deep_map(
    places: Places,
    span: Sequence[tuple[float, float]],
    described: Described,
    colour: Column,
    selected: Sequence[int] | None,
) -> go.Figure:
    """A map of three dimensions, to turn; selected sentences are ringed."""
    figure = go.Figure()
    texts = hover_texts(described, colour)
    size = _size(len(places)) / 2
    for name, one, other in _joined(described):
        ends = segments(places[one], places[other])
        figure.add_scatter3d(
            x=ends[:, 0], y=ends[:, 1], z=ends[:, 2], mode="lines", showlegend=False, hoverinfo="skip",
            line={"color": _colour_of(described, name), "width": 2},
        )  # fmt: skip
    for group in groups(colour):
        at = group.members
        figure.add_scatter3d(
            **_axes(places[at]),
            mode="markers",
            name=short_text(group.name, 24),
            marker=_marker(group, colour, size) | {"opacity": 0.25 if selected else 0.85},
            hovertext=[texts[place] for place in at],
            hovertemplate="%{hovertext}<extra></extra>",
            showlegend=group.colour is not None,
        )
    if selected:
        at = np.asarray(selected, dtype=np.intp)
        figure.add_scatter3d(
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
    figure.update_scenes(
        aspectmode="data", **{name: axis | {"range": one} for name, one in zip(names, span, strict=True)}
    )
    return _laid_out(figure)


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


def hover_texts(described: Described, colour: Column) -> list[str]:
    """What hovering says: the sentence, and by what it is coloured; shorter where there are very many."""
    most = 240 if len(described) <= SHARP else 100
    return [
        f"{hover_text(text, most=most)}<br><b>{short_text(colour.name, 40)}</b> {_told(cell)}"
        for text, cell in zip(described.texts, tuple[float | str, ...](colour.cells), strict=True)
    ]


def _told(cell: float | str) -> str:
    if isinstance(cell, str):
        return short_text(cell, 40) if cell else MISSING
    return f"{cell:.3g}" if np.isfinite(cell) else MISSING


def _marker(group: Group, colour: Column, size: float) -> dict[str, Any]:
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


def _joined(described: Described) -> list[tuple[str, NDArray[np.intp], NDArray[np.intp]]]:
    """The two ends of every line, by the name of the group that the line is in."""
    kinds = described.columns[0].cells if described.lines else ()
    names = dict.fromkeys(str(kinds[one]) for one, _ in described.lines)
    found = []
    for name in names:
        ends = np.array([line for line in described.lines if kinds[line[0]] == name], dtype=np.intp)
        found.append((name, ends[:, 0], ends[:, 1]))
    return found


def _colour_of(described: Described, name: str) -> str:
    """The colour that the group has where it is coloured by its name."""
    return next((group.colour or QUIET for group in groups(described.columns[0]) if group.name == name), QUIET)


def _axes(places: Places) -> dict[str, Places]:
    return dict(zip("xyz", places.T, strict=True))


def _size(count: int) -> float:
    return 9 if count <= 200 else 6 if count <= 1000 else 5 if count <= SHARP else 4


def _laid_out(figure: go.Figure) -> go.Figure:
    return figure.update_layout(
        height=HEIGHT,
        margin={"l": 0, "r": 0, "t": 8, "b": 8},
        legend={"orientation": "h", "y": 0, "yanchor": "top", "itemsizing": "constant", "title": None},
    )
