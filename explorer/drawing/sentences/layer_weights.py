"""Figures of layer-attention weights: matrix, mean weight by layer, and history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from explorer.drawing.style import (
    ACCENT,
    GRID_SCALE,
    POOLING_COLOURS,
    POOLING_SYMBOLS,
    QUIET,
    SIDES,
    short_text,
    text_colours,
)

Floats = NDArray[np.floating[Any]]
CELL = 34
MOST_NUMBERS = 9  # most layers with a number in every cell
MOST_LINES = 13  # most layers with a line and a label each


def asking_by_answering(
    weights: Floats, layers: Sequence[int], low: float, high: float, asks: str, answers: str
) -> go.Figure:
    """Weights (query layer, key layer) of a sentence, layer 0 at the bottom left; rows sum to 1."""
    figure = go.Figure()
    weights = np.where(np.isfinite(weights), weights, np.nan)  # a quotient can be undefined
    figure.add_heatmap(
        x=list(layers),
        y=list(layers),
        z=weights,
        zmin=low,
        zmax=high,
        colorscale=GRID_SCALE,
        xgap=1,
        ygap=1,
        colorbar={"thickness": 12, "tickformat": ".3~f"},
        hovertemplate="query layer %{y}, key layer %{x}: %{z:.3f}<extra></extra>",
    )
    if len(layers) <= MOST_NUMBERS:
        colours = text_colours(np.asarray(weights, dtype=np.float64), low, high)
        figure.add_scatter(
            x=[layer for _ in layers for layer in layers],
            y=[layer for layer in layers for _ in layers],
            mode="text",
            text=["" if np.isnan(weight) else f"{weight:.3f}" for weight in weights.flat],
            textfont={"color": colours, "size": 11},
            hoverinfo="skip",
            showlegend=False,
        )
    figure.update_xaxes(title=f"key layer ({answers})", tickvals=_labelled(layers), tickangle=0, **_STILL)
    figure.update_yaxes(title=f"query layer ({asks})", tickvals=_labelled(layers), **_STILL)
    return _laid_out(figure, 90 + CELL * min(12, max(6, len(layers))))


def listened_and_scored(
    listened: Floats,
    layers: Sequence[int],
    sentences: Sequence[str],
    scores: Mapping[str, Floats],
) -> go.Figure:
    """Bars of the mean weight of each layer (sentence, layer); below, the score of each layer.

    Bars start at the uniform weight, since differences would not be visible from 0.
    """
    from plotly.subplots import make_subplots

    rows, alike = 2 if scores else 1, 1 / len(layers)
    figure = make_subplots(rows=rows, shared_xaxes=True, vertical_spacing=0.1)
    for place, (sentence, shares) in enumerate(zip(sentences, listened, strict=True)):
        figure.add_bar(
            x=list(layers),
            y=shares - alike,
            base=alike,
            customdata=shares,
            name=short_text(sentence),
            marker={"color": SIDES[place % len(SIDES)]},
            hovertemplate="layer %{x}: %{customdata:.4f}<extra></extra>",
            row=1,
            col=1,
        )
    figure.add_hline(y=alike, line={"color": QUIET, "width": 1.5}, row=1, col=1)
    for pooling, of_layers in scores.items():
        figure.add_scatter(
            x=list(layers),
            y=of_layers,
            mode="lines+markers",
            name=f"{pooling}, score",
            line={"color": POOLING_COLOURS[pooling], "width": 2.5},
            marker={"symbol": POOLING_SYMBOLS[pooling], "size": 9},
            hovertemplate=f"{pooling} of layer %{{x}}: %{{y:.2f}}<extra></extra>",
            row=2,
            col=1,
        )
    figure.update_xaxes(tickvals=_labelled(layers), zeroline=False)
    figure.update_xaxes(title="layer", row=rows, col=1)
    figure.update_yaxes(title="mean weight", row=1, col=1, zeroline=False)
    if scores:
        figure.update_yaxes(title="Spearman × 100", row=2, col=1, zeroline=False)
    return _laid_out(figure, 230 + 220 * rows, legend=True)


def path(steps: Sequence[int], listened: Floats, layers: Sequence[int], best: int | None) -> go.Figure:
    """The weight of each layer (step, layer) at each evaluation; the best step is marked.

    A line for each layer, or a heatmap for many layers.
    """
    figure = go.Figure()
    if len(layers) <= MOST_LINES:
        _add_lines(figure, steps, listened, layers)
    else:
        _add_colours(figure, steps, listened, layers)
    if best is not None:
        figure.add_vline(x=best, line={"color": ACCENT, "width": 2})
        figure.add_annotation(x=best, y=1, yref="paper", yanchor="bottom", text="best step", showarrow=False)
    figure.update_xaxes(title="step", zeroline=False)
    figure = _laid_out(figure, 400, legend=len(layers) <= MOST_LINES)
    return figure.update_layout(margin={"t": 50}, legend={"orientation": "v", "x": 1.02, "y": 1, "yanchor": "top"})


def _add_lines(figure: go.Figure, steps: Sequence[int], listened: Floats, layers: Sequence[int]) -> None:
    from plotly.colors import sample_colorscale

    # without the ends of the scale, which are invisible on black or on white
    colours = sample_colorscale(GRID_SCALE, np.linspace(0.25, 0.85, len(layers)).tolist())
    for layer, colour, line in zip(layers, colours, np.asarray(listened).T, strict=True):
        figure.add_scatter(
            x=list(steps),
            y=line,
            mode="lines+markers",
            name=f"layer {layer}",
            line={"color": colour, "width": 2.5},
            marker={"size": 6},
            hovertemplate=f"layer {layer}, step %{{x}}: %{{y:.4f}}<extra></extra>",
        )
    figure.add_hline(y=1 / len(layers), line={"color": QUIET, "dash": "dash", "width": 1.5})
    figure.update_yaxes(title="mean weight", zeroline=False)


def _add_colours(figure: go.Figure, steps: Sequence[int], listened: Floats, layers: Sequence[int]) -> None:
    figure.add_heatmap(
        x=list(steps),
        y=list(layers),
        z=np.asarray(listened).T,
        colorscale=GRID_SCALE,
        colorbar={"thickness": 12},
        hovertemplate="layer %{y}, step %{x}: %{z:.4f}<extra></extra>",
    )
    figure.update_yaxes(title="layer", tickvals=_labelled(layers), **_STILL)


def _labelled(layers: Sequence[int]) -> list[int]:
    """Layers with a label on the axis: every other one if there are many."""
    return list(layers)[:: 1 if len(layers) <= MOST_LINES else 2]


_STILL: dict[str, Any] = {"showgrid": False, "zeroline": False, "fixedrange": True}


def _laid_out(figure: go.Figure, height: int, legend: bool = False) -> go.Figure:
    return figure.update_layout(
        height=height,
        barmode="group",
        hovermode="closest",
        showlegend=legend,
        margin={"l": 0, "r": 8, "t": 30, "b": 40},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
    )
