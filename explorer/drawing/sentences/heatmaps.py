"""Heatmaps: self-attention heads, and the weights with which a pooler attends to layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from explorer import in_words
from explorer.drawing import style

if TYPE_CHECKING:
    from explorer.encoding.read.sentence_pairs import SelfAttention

Floats = NDArray[np.floating[Any]]
ROW = 26
FEW = 22  # most tokens with a label on every column
CELL = 34
MOST_NUMBERS = 9  # most layers with a number in every cell
MOST_LINES = 13  # most layers with a line and a label each


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
    draft.points(
        x=across * layers,
        y=np.repeat(down, heads).tolist(),
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
    weights: Floats, layers: Sequence[int], sentences: Sequence[str], scores: Mapping[str, Floats], side: str = "A"
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
            marker={"color": style.SIDES["AB".index(side)], "opacity": (1.0, 0.55)[place % 2]},
            hovertemplate="layer %{x}: %{customdata:.4f}<extra></extra>",
            row=1,
        )
    draft.line(y=alike, color=style.QUIET, width=1.5, row=1)
    for pooling, of_layers in scores.items():
        draft.curve(
            style.pooling_colour(pooling),
            x=list(layers),
            y=of_layers,
            name=f"{pooling}, score",
            marker={"symbol": style.pooling_symbol(pooling), "size": 9},
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
