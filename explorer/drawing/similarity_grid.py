"""How alike are sentences, every one to every other? A square of cosines for each side, and one for the difference."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from explorer.drawing.style import ACCENT, DIFFERENCE_SCALE, GRID_SCALE, hover_text, short_text, text_colours
from explorer.measuring.similarities import Matrix, apart

Span = tuple[float, float]

WRITTEN = 12  # sentences up to which the number stands in the cell
CLICKED = 40  # and up to which every cell answers a click: beyond, the invisible points weigh more than the picture
_LABELLED = 40
_HOVERED = 160  # characters of a sentence where every cell tells both


def span_of(*matrices: Matrix) -> Span:
    """The lowest and the highest cosine of two different sentences, over all sides."""
    known = np.concatenate([apart(matrix) for matrix in matrices])
    if np.isnan(known).all():
        return -1.0, 1.0
    low, high = float(np.nanmin(known)), float(np.nanmax(known))
    return (low, high) if high - low > 1e-6 else (low - 0.01, high + 0.01)


def widest(difference: Matrix) -> float:
    """How far the scale of a difference reaches to either side."""
    known = np.abs(apart(difference))
    return max(1e-6, float(np.nanmax(known))) if np.isfinite(known).any() else 1.0


def alike(
    cosines: Matrix, sentences: tuple[str, ...], order: NDArray[np.intp], span: Span, chosen: tuple[int, int]
) -> go.Figure:
    """The cosines of one side, sentences in that order from the top left; the chosen pair is framed.

    The diagonal is left out: a sentence is always like itself, and would stretch the scale.
    """
    return _square(cosines, sentences, order, span, GRID_SCALE, ".2f", chosen)


def changed(
    difference: Matrix, sentences: tuple[str, ...], order: NDArray[np.intp], chosen: tuple[int, int]
) -> go.Figure:
    """B less A; blue is more alike in B."""
    reach = widest(difference)
    return _square(difference, sentences, order, (-reach, reach), DIFFERENCE_SCALE, "+.2f", chosen)


def _square(
    values: Matrix,
    sentences: tuple[str, ...],
    order: NDArray[np.intp],
    span: Span,
    scale: Any,
    spelled: str,
    chosen: tuple[int, int],
) -> go.Figure:
    count = len(order)
    shown = values[np.ix_(order, order)].astype(np.float32)
    np.fill_diagonal(shown, np.nan)
    clicked = count <= CLICKED
    # places, not texts, are the axes: two sentences that are the same would be one row. Where no cell tells its
    # sentences itself, the numbered texts are, which no two share
    places = list(range(count))
    names = [f"{number + 1} · {hover_text(sentences[number], 34, _HOVERED)}" for number in order]
    axis = places if clicked else names
    figure = go.Figure()
    figure.add_heatmap(
        x=axis,
        y=axis,
        z=shown,
        zmin=span[0],
        zmax=span[1],
        colorscale=scale,
        colorbar={
            "orientation": "h",
            "thickness": 8,
            "y": 0,
            "yanchor": "top",
            "ypad": 12,
            "xpad": 0,
            "nticks": 5,
            "outlinewidth": 0,
        },
        xgap=1 if clicked else 0,
        ygap=1 if clicked else 0,
        hoverinfo="skip" if clicked else None,
        hovertemplate=None if clicked else f"%{{y}}<br>%{{x}}<br><b>%{{z:{spelled}}}</b><extra></extra>",
        hoverongaps=False,
    )
    if clicked:
        colours = (
            text_colours(np.clip(shown.astype(np.float64), *span), *span)
            if scale == GRID_SCALE
            else _on_change(shown, span[1])
        )
        _add_points(figure, shown, names, order, spelled, colours)
    _add_frame(figure, order, chosen)
    small, every = {"size": 11 if count <= 20 else 9}, count <= _LABELLED
    some = slice(None, None, -(-count // 20))
    still = {"showgrid": False, "zeroline": False, "fixedrange": True, "ticks": "", "tickfont": small}
    figure.update_xaxes(
        tickvals=places[some],
        ticktext=[str(order[place] + 1) for place in places[some]],
        side="top",
        tickangle=0,
        range=[-0.5, count - 0.5],
        **still,
    )
    labels = (
        [f"{short_text(sentences[number], 14)} {number + 1}" for number in order]
        if every
        else [str(number + 1) for number in order]
    )
    seen = slice(None) if every else some
    figure.update_yaxes(tickvals=places[seen], ticktext=labels[seen], range=[count - 0.5, -0.5], **still)
    return figure.update_layout(
        height=430, hovermode="closest", hoverdistance=-1, showlegend=False, margin={"l": 0, "r": 4, "t": 24, "b": 44}
    )


def _add_points(
    figure: go.Figure,
    shown: NDArray[np.float32],
    names: list[str],
    order: NDArray[np.intp],
    spelled: str,
    colours: list[str],
) -> None:
    """A heatmap answers no clicks, so an invisible point stands on every cell; it tells both sentences by number."""
    count = len(order)
    written = count <= WRITTEN
    cells = [(row, column) for row in range(count) for column in range(count) if row != column]
    figure.add_scatter(
        x=[column for _, column in cells],
        y=[row for row, _ in cells],
        mode="markers+text" if written else "markers",
        text=[format(shown[cell], spelled) if np.isfinite(shown[cell]) else "" for cell in cells] if written else None,
        textfont={"size": 10, "color": [colours[row * count + column] for row, column in cells]},
        marker={"symbol": "square", "size": max(4, 200 // count), "opacity": 0},
        customdata=[int(order[row]) * count + int(order[column]) for row, column in cells],
        hovertext=[
            f"{names[row]}<br>{names[column]}<br><b>{_number(shown[row, column], spelled)}</b>" for row, column in cells
        ],
        hovertemplate="%{hovertext}<extra></extra>",
    )


def _add_frame(figure: go.Figure, order: NDArray[np.intp], chosen: tuple[int, int]) -> None:
    place = {int(number): at for at, number in enumerate(order)}
    one, other = (place[number] for number in chosen)
    if one == other:
        return
    for row, column in ((one, other), (other, one)):
        figure.add_shape(
            type="rect",
            x0=column - 0.5,
            x1=column + 0.5,
            y0=row - 0.5,
            y1=row + 0.5,
            line={"color": ACCENT, "width": 3},
        )


def _on_change(values: NDArray[np.float32], reach: float) -> list[str]:
    """Black or white for each value: the ends of the scale of differences are dark."""
    return ["#ffffff" if abs(value) > 0.5 * reach else "#000000" for value in values.flat]


def _number(value: float, spelled: str) -> str:
    return "no cosine" if np.isnan(value) else format(value, spelled)
