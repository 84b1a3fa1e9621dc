"""Lines of the cosine of every pair of sentences by layer, for A and B on one scale, with random pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from explorer import in_words
from explorer.drawing import style
from explorer.drawing.sentences.heatmaps import Floats

HEIGHT = 420
PRESENTED = 385  # pixels in presentation mode, where the tab is all that is shown below the answer
MARKS = {True: (style.MODEL_COLOURS[0], "solid"), False: (style.MODEL_COLOURS[1], "dash")}  # same, different
_BAND = "rgba(138, 143, 152, 0.25)"


@dataclass(frozen=True, eq=False)
class CurvesOfSide:
    """A side: cosines (layer, pair) of all pairs, and of marked ones with their kind; the chosen pair; random pairs.

    `random` is mean, low and high (3, layer); `chosen` is (layer,).
    """

    title: str
    cosines: Floats
    marked: Sequence[tuple[Floats, bool]]
    chosen: Floats | None
    random: Floats | None


def by_layer(sides: Sequence[CurvesOfSide]) -> go.Figure:
    """A panel for each side. The points of the chosen pair have side and layer as their number: `place_of`."""
    draft = style.Draft(cols=len(sides), across=0.06, titles=[style.short_text(side.title, 54) for side in sides])
    for column, side in enumerate(sides, start=1):
        layers = np.arange(len(side.cosines))
        _add_lines(draft, side, layers, {"col": column, "showlegend": column == 1, "hoverinfo": "skip"})
        if side.chosen is not None:
            draft.curve(
                style.ACCENT,
                col=column,
                width=4,
                size=10,
                x=layers,
                y=side.chosen,
                name="the chosen pair",
                showlegend=column == 1,
                customdata=[1000 * (column - 1) + layer for layer in layers.tolist()],
                text=[in_words.cosine(cosine, 3) for cosine in side.chosen.tolist()],
                hovertemplate="layer %{x}: %{text}; click to use it<extra></extra>",
            )
        step = 1 if len(layers) <= 13 else 2
        draft.x_axes(col=column, title="layer", tickvals=layers[::step].tolist(), zeroline=False, fixedrange=True)
    low, high = style.COSINE_RANGE
    draft.y_axes(range=[low, high + 0.02], zeroline=False, fixedrange=True)
    draft.y_axes(col=1, title="cosine")
    return draft.figure(
        HEIGHT, margin={"t": 30, "b": 90}, legend={"yref": "container", "y": 0, "yanchor": "bottom"}, showlegend=True
    )


def _add_lines(draft: style.Draft, side: CurvesOfSide, layers: NDArray[np.intp], panel: dict[str, Any]) -> None:
    """Random pairs as a band, all pairs, and those that are marked, in the panel of a side."""
    if side.random is not None:
        mean, low, high = side.random
        band = {"x": [*layers, *layers[::-1]], "y": [*high, *low[::-1]], "fill": "toself", "fillcolor": _BAND}
        draft.path(**panel, **band, name="90 % of random pairs", line={"width": 0})
        line = {"color": style.QUIET, "dash": "dot", "width": 2}
        draft.path(**panel, x=layers, y=mean, name="mean of random pairs", line=line)
    x, y = lines(side.cosines)
    opacity = 0.5 if side.cosines.shape[1] <= 100 else 0.2
    draft.path(**panel, x=x, y=y, name="a pair", opacity=opacity, line={"color": style.QUIET, "width": 1})
    for kind, (colour, dash) in MARKS.items():
        some = [cosines for cosines, same in side.marked if same == kind]
        if some:
            x, y = lines(np.stack(some, axis=1))
            name = "marked as same" if kind else "marked as different"
            draft.path(**panel, x=x, y=y, name=name, line={"color": colour, "dash": dash, "width": 2.5})


def place_of(number: int) -> tuple[int, int]:
    """The side and the layer of a clicked point."""
    return divmod(number, 1000)


def lines(cosines: Floats) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """One trace of lines (layer, pair), with a gap after each."""
    layers, pairs = cosines.shape
    gap = np.full((1, pairs), np.nan)
    x = np.concatenate([np.repeat(np.arange(layers, dtype=float)[:, None], pairs, axis=1), gap])
    y = np.concatenate([cosines, gap])
    return x.T.ravel().astype(np.float32), y.T.ravel().astype(np.float32)
