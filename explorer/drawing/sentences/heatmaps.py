"""Heatmaps: cosines of sentences, self-attention heads, and the weights with which a pooler attends to layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from explorer import in_words
from explorer.drawing import style
from explorer.measuring.sentences.sentence_vectors import Matrix

if TYPE_CHECKING:
    from explorer.encoding.read.sentence_pairs import SelfAttention

Floats = NDArray[np.floating[Any]]
ROW = 26
FEW = 22  # most tokens with a label on every column
CELL = 34
MOST_NUMBERS = 9  # most layers with a number in every cell
MOST_LINES = 13  # most layers with a line and a label each
Span = tuple[float, float]

WRITTEN = 12  # most sentences with a number in every cell
_LABELLED = 40
_HOVERED = 160  # most characters of a sentence in the hover text


def every_head(values: NDArray[np.float64], meaning: str, chosen: tuple[int, int]) -> go.Figure:
    """A cell for every (layer, head), both counted from 1 and layer 1 at the bottom; the chosen one is framed.

    A heatmap has no click events, so every cell has an invisible point; its customdata is the index of the cell.
    """
    layers, heads = values.shape
    down, across = list(range(1, layers + 1)), list(range(1, heads + 1))
    draft = style.Draft()
    draft.add(
        "heatmap",
        x=across,
        y=down,
        z=values,
        colorscale=style.GRID_SCALE,
        xgap=2,
        ygap=2,
        colorbar={"thickness": 12},
        hoverinfo="skip",
    )
    draft.add(
        "scatter",
        x=across * layers,
        y=np.repeat(down, heads).tolist(),
        mode="markers",
        marker={"symbol": "square", "size": ROW - 4, "opacity": 0},
        customdata=list(range(layers * heads)),
        hovertext=[
            f"layer {layer}, head {head}<br>{meaning}: {values[layer - 1, head - 1]:.2f}"
            for layer in down
            for head in across
        ],
        hovertemplate="%{hovertext}<extra></extra>",
    )
    layer, head = chosen
    edges = {"x0": head - 0.48, "x1": head + 0.48, "y0": layer - 0.48, "y1": layer + 0.48}
    draft.shape(type="rect", line={"color": style.ACCENT, "width": 4}, **edges)
    draft.x_axes(title="head", tickvals=across, tickangle=0, tickfont={"size": 10}, **style.STILL)
    draft.y_axes(title="layer", tickvals=down, **style.STILL)
    return draft.figure(90 + ROW * max(5, layers), hoverdistance=-1, showlegend=False, margin={"t": 10})


def head_by_token(attention: SelfAttention, layer: int, head: int) -> go.Figure:
    """Attention weights of a head: query tokens (rows) and key tokens (columns), from the top left."""
    places = list(range(len(attention.tokens)))
    # the axes are positions, since equal tokens would share a row
    labels = [token_label(token) for token in attention.tokens]
    draft = style.Draft()
    draft.add(
        "heatmap",
        x=places,
        y=places,
        z=attention.weights[layer - 1, head - 1],
        zmin=0,
        colorscale=style.GRID_SCALE,
        colorbar={"thickness": 12},
        text=[[f"{one} → {other}" for other in labels] for one in labels],
        hovertemplate="%{text}: %{z:.3f}<extra></extra>",
    )
    small = {"size": 9}
    some = slice(None, None, -(-len(places) // FEW))  # rows have all labels, in the same order
    draft.x_axes(
        title="key token",
        tickangle=-90,
        side="top",
        tickvals=places[some],
        ticktext=labels[some],
        tickfont=small,
        **style.STILL,
    )
    draft.y_axes(
        title="query token",
        autorange="reversed",
        tickvals=places,
        ticktext=labels,
        tickfont={} if len(places) <= FEW else small,
        **style.STILL,
    )
    return draft.figure(170 + (20 if len(places) <= FEW else 13) * len(places), margin={"b": 10})


def token_label(token: str) -> str:
    """The label of a token, with visible spaces."""
    shown = "".join(letter if letter.isprintable() else "�" for letter in token.replace(" ", "·"))
    return style.hover_text(shown, most=24) or "·"


def query_by_key(
    weights: Floats, layers: Sequence[int], low: float, high: float, query_pooling: str, key_pooling: str
) -> go.Figure:
    """Weights (query layer, key layer) of a sentence, layer 0 at the bottom left; rows sum to 1."""
    draft = style.Draft()
    weights = np.where(np.isfinite(weights), weights, np.nan)  # a quotient can be undefined
    draft.add(
        "heatmap",
        x=list(layers),
        y=list(layers),
        z=weights,
        zmin=low,
        zmax=high,
        colorscale=style.GRID_SCALE,
        xgap=1,
        ygap=1,
        colorbar={"thickness": 12, "tickformat": ".3~f"},
        hovertemplate="query layer %{y}, key layer %{x}: %{z:.3f}<extra></extra>",
    )
    if len(layers) <= MOST_NUMBERS:
        three = style.written(weights, partial(in_words.number, digits=3))
        draft.numbers(weights, (low, high), texts=three, places=layers)
    draft.x_axes(title=f"key layer ({key_pooling})", tickvals=_labelled(layers), tickangle=0, **style.STILL)
    draft.y_axes(title=f"query layer ({query_pooling})", tickvals=_labelled(layers), **style.STILL)
    return draft.figure(90 + CELL * min(12, max(6, len(layers))), showlegend=False)


def weights_and_scores(
    weights: Floats, layers: Sequence[int], sentences: Sequence[str], scores: Mapping[str, Floats]
) -> go.Figure:
    """Bars of the mean weight of each layer (sentence, layer); below, the score of each layer.

    Bars start at the uniform weight, since differences would not be visible from 0.
    """
    rows, alike = 2 if scores else 1, 1 / len(layers)
    draft = style.Draft(rows=rows, shared=True, down=0.1)
    for place, (sentence, shares) in enumerate(zip(sentences, weights, strict=True)):
        draft.add(
            "bar",
            x=list(layers),
            y=shares - alike,
            base=alike,
            customdata=shares,
            name=style.short_text(sentence),
            marker={"color": style.SENTENCE_COLOURS[place % len(style.SENTENCE_COLOURS)]},
            hovertemplate="layer %{x}: %{customdata:.4f}<extra></extra>",
            row=1,
        )
    draft.line(y=alike, color=style.QUIET, width=1.5, row=1)
    for pooling, of_layers in scores.items():
        draft.curve(
            style.POOLING_COLOURS[pooling],
            x=list(layers),
            y=of_layers,
            name=f"{pooling}, score",
            marker={"symbol": style.POOLING_SYMBOLS[pooling], "size": 9},
            hovertemplate=f"{pooling} of layer %{{x}}: %{{y:.2f}}<extra></extra>",
            row=2,
        )
    draft.x_axes(tickvals=_labelled(layers), zeroline=False)
    draft.x_axes(title="layer", row=rows)
    draft.y_axes(title="mean weight", row=1, zeroline=False)
    if scores:
        draft.y_axes(title="score × 100", row=2, zeroline=False)
    return draft.figure(230 + 220 * rows, showlegend=True)


def weight_history(steps: Sequence[int], weights: Floats, layers: Sequence[int], best: int | None) -> go.Figure:
    """The weight of each layer (step, layer) at each evaluation; the best step is marked.

    A line for each layer, or a heatmap for many layers.
    """
    from plotly.colors import sample_colorscale

    draft = style.Draft()
    if len(layers) <= MOST_LINES:
        # without the ends of the scale, which are invisible on black or on white
        colours = sample_colorscale(style.GRID_SCALE, np.linspace(0.25, 0.85, len(layers)).tolist())
        for layer, colour, line in zip(layers, colours, np.asarray(weights).T, strict=True):
            hover = f"layer {layer}, step %{{x}}: %{{y:.4f}}<extra></extra>"
            draft.curve(colour, size=6, x=list(steps), y=line, name=f"layer {layer}", hovertemplate=hover)
        draft.line(y=1 / len(layers), color=style.QUIET, dash="dash", width=1.5)
        draft.y_axes(title="mean weight", zeroline=False)
    else:
        draft.add(
            "heatmap",
            x=list(steps),
            y=list(layers),
            z=np.asarray(weights).T,
            colorscale=style.GRID_SCALE,
            colorbar={"thickness": 12},
            hovertemplate="layer %{y}, step %{x}: %{z:.4f}<extra></extra>",
        )
        draft.y_axes(title="layer", tickvals=_labelled(layers), **style.STILL)
    if best is not None:
        draft.line(x=best, color=style.ACCENT, width=2)
        draft.note("best step", x=best, y=1, yref="paper", yanchor="bottom")
    draft.x_axes(title="step", zeroline=False)
    return draft.figure(
        400,
        margin={"t": 50},
        showlegend=len(layers) <= MOST_LINES,
        legend={"orientation": "v", "x": 1.02, "y": 1, "yanchor": "top"},
    )


def _labelled(layers: Sequence[int]) -> list[int]:
    """Layers with a label on the axis: every other one if there are many."""
    return list(layers)[:: 1 if len(layers) <= MOST_LINES else 2]


def alike(cosines: Matrix, sentences: tuple[str, ...], order: NDArray[np.intp], chosen: tuple[int, int]) -> go.Figure:
    """The cosines of one side, sentences in that order from the top left; the chosen pair is framed.

    The diagonal is omitted, since its cosines are 1 whatever the model.
    """
    scale = style.COSINE_RANGE, style.COSINE_SCALE
    return _square(cosines, style.written(cosines), sentences, order, *scale, chosen)


def changed(
    one: Matrix, other: Matrix, sentences: tuple[str, ...], order: NDArray[np.intp], chosen: tuple[int, int]
) -> go.Figure:
    """B - A; blue is more similar in B. What is written is the difference of both cosines as they are shown."""
    difference = other - one
    gaps = map(in_words.gap, one.ravel().tolist(), other.ravel().tolist())
    texts = np.reshape([in_words.signed(gap) for gap in gaps], difference.shape)
    scale = style.DIFFERENCE_RANGE, style.DIFFERENCE_SCALE
    return _square(difference, texts, sentences, order, *scale, chosen)


def _square(
    values: Matrix,
    texts: NDArray[np.str_],
    sentences: tuple[str, ...],
    order: NDArray[np.intp],
    span: Span,
    scale: Any,
    chosen: tuple[int, int],
) -> go.Figure:
    count = len(order)
    shown = values[np.ix_(order, order)].astype(np.float32)
    np.fill_diagonal(shown, np.nan)
    gap = 1 if count <= _LABELLED else 0
    below = {"y": 0, "yanchor": "top", "ypad": 12, "xpad": 0}
    draft = style.Draft()
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
    ordered = texts[np.ix_(order, order)]
    _add_points(draft, shown, order, ordered)
    if count <= WRITTEN:
        draft.numbers(shown, span, scale, texts=ordered, size=10)
    one, other = (order.tolist().index(number) for number in chosen)
    half = max(0.5, count / 80)  # of the frame: for many sentences wider than a cell, to be visible
    for row, column in ((one, other), (other, one)) if one != other else ():
        ends = {"x0": column - half, "x1": column + half, "y0": row - half, "y1": row + half}
        draft.shape(type="rect", **ends, line={"color": style.ACCENT, "width": 3})
    named = _label(draft, sentences, order)
    return draft.figure(430, margin={"r": 4, "t": 24, "b": 44}, hoverdistance=-1, showlegend=False, **named)


def _label(draft: style.Draft, sentences: tuple[str, ...], order: NDArray[np.intp]) -> dict[str, dict[str, Any]]:
    """Label the axes with numbers and beginnings of sentences; return invisible axes with the names for hover text."""
    count = len(order)
    places = list(range(count))
    every = count <= _LABELLED
    some = slice(None, None, -(-count // (20 if count < 100 else 10)))
    still: dict[str, Any] = {"ticks": "", **style.STILL}
    small: dict[str, Any] = {"tickfont": {"size": 11 if count <= 20 else 9}}
    across, down = [-0.5, count - 0.5], [count - 0.5, -0.5]
    numbers = [str(number + 1) for number in order]
    # isolated, since right-to-left text would otherwise change the position of the number
    labels = (
        [f"\u2068{style.short_text(sentences[number], 14)}\u2069 {number + 1}" for number in order]
        if every
        else numbers
    )
    seen = slice(None) if every else some
    names = [f"{number + 1} · {style.hover_text(sentences[number], 34, _HOVERED)}" for number in order]
    named = {"tickvals": places, "ticktext": names, "showticklabels": False, **still}
    draft.x_axes(side="top", tickangle=0, range=across, tickvals=places[some], ticktext=numbers[some], **still, **small)
    draft.y_axes(range=down, tickvals=places[seen], ticktext=labels[seen], **still, **small)
    return {
        "xaxis2": {"overlaying": "x", "range": across, **named},
        "yaxis2": {"overlaying": "y", "range": down, **named},
    }


def _add_points(
    draft: style.Draft, shown: NDArray[np.float32], order: NDArray[np.intp], texts: NDArray[np.str_]
) -> None:
    """A heatmap has no click events, so every cell has a point, with the names of its axes."""
    count = len(order)
    known, apart_from_itself = np.isfinite(shown), ~np.eye(count, dtype=bool)
    for cells in (known, apart_from_itself & ~known):
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
            marker={"maxdisplayed": 1, "opacity": 0},
            customdata=(order[rows] * count + order[columns]).astype(np.int32),
            text=texts[rows, columns].tolist() if cells is known else "no cosine",
            hovertemplate="%{y}<br>%{x}<br><b>%{text}</b><extra></extra>",
        )
