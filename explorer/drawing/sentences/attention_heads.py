"""Figures of self-attention: a summary of every head, and one head token by token."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from explorer.drawing.parts.draft import Draft
from explorer.drawing.parts.style import ACCENT, GRID_SCALE, hover_text

if TYPE_CHECKING:
    from explorer.encoding.read.self_attention import SelfAttention

ROW = 26
FEW = 22  # most tokens with a label on every column


def every_head(values: NDArray[np.float64], meaning: str, chosen: tuple[int, int]) -> go.Figure:
    """A cell for every (layer, head), both counted from 1 and layer 1 at the bottom; the chosen one is framed.

    A heatmap has no click events, so every cell has an invisible point; its customdata is the index of the cell.
    """
    layers, heads = values.shape
    down, across = list(range(1, layers + 1)), list(range(1, heads + 1))
    draft = Draft()
    draft.add(
        "heatmap",
        x=across,
        y=down,
        z=values,
        colorscale=GRID_SCALE,
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
    draft.shape(type="rect", line={"color": ACCENT, "width": 4}, **edges)
    draft.x_axes(title="head", tickvals=across, tickangle=0, tickfont={"size": 10}, **_STILL)
    draft.y_axes(title="layer", tickvals=down, **_STILL)
    return draft.figure(
        90 + ROW * max(5, layers),
        hoverdistance=-1,
        showlegend=False,
        margin={"t": 10},
    )


def token_by_token(attention: SelfAttention, layer: int, head: int) -> go.Figure:
    """Attention weights of a head: query tokens (rows) and key tokens (columns), from the top left."""
    places = list(range(len(attention.tokens)))
    # the axes are positions, since equal tokens would share a row
    labels = [token_label(token) for token in attention.tokens]
    draft = Draft()
    draft.add(
        "heatmap",
        x=places,
        y=places,
        z=attention.weights[layer - 1, head - 1],
        zmin=0,
        colorscale=GRID_SCALE,
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
        **_STILL,
    )
    draft.y_axes(
        title="looks",
        autorange="reversed",
        tickvals=places,
        ticktext=labels,
        tickfont={} if len(places) <= FEW else small,
        **_STILL,
    )
    return draft.figure(170 + (20 if len(places) <= FEW else 13) * len(places), margin={"b": 10})


def token_label(token: str) -> str:
    """The label of a token, with visible spaces."""
    shown = "".join(letter if letter.isprintable() else "�" for letter in token.replace(" ", "·"))
    return hover_text(shown, most=24) or "·"


_STILL = {"showgrid": False, "zeroline": False, "fixedrange": True}
