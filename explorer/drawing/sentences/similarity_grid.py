"""Cosine matrix of sentences for each side, and the matrix of differences."""

from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from explorer.drawing import style
from explorer.drawing.style import ACCENT, DIFFERENCE_SCALE, STILL, Draft, hover_text, short_text
from explorer.measuring.sentences.sentence_vectors import Matrix, apart

Span = tuple[float, float]

WRITTEN = 12  # most sentences with a number in every cell
_LABELLED = 40
_HOVERED = 160  # most characters of a sentence in the hover text


def span_of(*matrices: Matrix) -> Span:
    """The lowest and the highest cosine of two different sentences, over all sides."""
    return style.spread(np.concatenate([apart(matrix) for matrix in matrices]))


def widest(difference: Matrix) -> float:
    """The half-width of the scale of differences."""
    known = np.abs(apart(difference))
    return max(1e-6, float(np.nanmax(known))) if np.isfinite(known).any() else 1.0


def alike(
    cosines: Matrix, sentences: tuple[str, ...], order: NDArray[np.intp], span: Span, chosen: tuple[int, int]
) -> go.Figure:
    """The cosines of one side, sentences in that order from the top left; the chosen pair is framed.

    The diagonal is omitted, since its cosines of 1 would stretch the scale.
    """
    return _square(cosines, sentences, order, span, style.GRID_SCALE, ".2f", chosen)


def changed(
    difference: Matrix, sentences: tuple[str, ...], order: NDArray[np.intp], chosen: tuple[int, int]
) -> go.Figure:
    """B - A; blue is more similar in B."""
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
    gap = 1 if count <= _LABELLED else 0
    below = {"y": 0, "yanchor": "top", "ypad": 12, "xpad": 0}
    draft = Draft()
    # the axes are positions, since equal sentences would share a row
    draft.add(
        "heatmap",
        x=list(range(count)),
        y=list(range(count)),
        z=shown,
        zmin=span[0],
        zmax=span[1],
        colorscale=scale,
        colorbar={"orientation": "h", "thickness": 8, "nticks": 5, "outlinewidth": 0, **below},
        xgap=gap,
        ygap=gap,
        hoverinfo="skip",
    )
    _add_points(draft, shown, order, spelled)
    if count <= WRITTEN:
        draft.numbers(shown, span, scale, spelled=spelled, size=10)
    one, other = (order.tolist().index(number) for number in chosen)
    half = max(0.5, count / 80)  # of the frame: for many sentences wider than a cell, to be visible
    for row, column in ((one, other), (other, one)) if one != other else ():
        ends = {"x0": column - half, "x1": column + half, "y0": row - half, "y1": row + half}
        draft.shape(type="rect", **ends, line={"color": ACCENT, "width": 3})
    named = _label(draft, sentences, order)
    return draft.figure(430, margin={"r": 4, "t": 24, "b": 44}, hoverdistance=-1, showlegend=False, **named)


def _label(draft: Draft, sentences: tuple[str, ...], order: NDArray[np.intp]) -> dict[str, dict[str, Any]]:
    """Label the axes with numbers and beginnings of sentences; return invisible axes with the names for hover text."""
    count = len(order)
    places = list(range(count))
    every = count <= _LABELLED
    some = slice(None, None, -(-count // (20 if count < 100 else 10)))
    still: dict[str, Any] = {"ticks": "", **STILL}
    small: dict[str, Any] = {"tickfont": {"size": 11 if count <= 20 else 9}}
    across, down = [-0.5, count - 0.5], [count - 0.5, -0.5]
    numbers = [str(number + 1) for number in order]
    # isolated, since right-to-left text would otherwise change the position of the number
    labels = [f"\u2068{short_text(sentences[number], 14)}\u2069 {number + 1}" for number in order] if every else numbers
    seen = slice(None) if every else some
    names = [f"{number + 1} · {hover_text(sentences[number], 34, _HOVERED)}" for number in order]
    named = {"tickvals": places, "ticktext": names, "showticklabels": False, **still}
    draft.x_axes(side="top", tickangle=0, range=across, tickvals=places[some], ticktext=numbers[some], **still, **small)
    draft.y_axes(range=down, tickvals=places[seen], ticktext=labels[seen], **still, **small)
    return {
        "xaxis2": {"overlaying": "x", "range": across, **named},
        "yaxis2": {"overlaying": "y", "range": down, **named},
    }


def _add_points(draft: Draft, shown: NDArray[np.float32], order: NDArray[np.intp], spelled: str) -> None:
    """A heatmap has no click events, so every cell has a point, with the names of its axes."""
    count = len(order)
    known, apart_from_itself = np.isfinite(shown), ~np.eye(count, dtype=bool)
    for cells, value in ((known, f"%{{marker.color:{spelled}}}"), (apart_from_itself & ~known, "no cosine")):
        if not cells.any():
            continue
        rows, columns = np.nonzero(cells)
        draft.add(
            "scatter",
            x=columns.astype(np.uint8),
            y=rows.astype(np.uint8),
            xaxis="x2",
            yaxis="y2",
            mode="markers",
            # invisible points are drawn once: 200 sentences would need 40,000 nodes of the page
            marker={"maxdisplayed": 1, "opacity": 0, "color": shown[cells]},
            customdata=(order[rows] * count + order[columns]).astype(np.int32),
            hovertemplate=f"%{{y}}<br>%{{x}}<br><b>{value}</b><extra></extra>",
        )
