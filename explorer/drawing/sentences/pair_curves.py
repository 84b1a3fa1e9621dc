"""Cosine of two sentences by layer, and each layer's contribution to the last cosine."""

from __future__ import annotations

import plotly.graph_objects as go

from explorer.drawing.style import POOLING_COLOURS, POOLING_SYMBOLS, SIDES
from explorer.measuring.sentences.pair_layers import PairLayers


def cosines_and_contributions(pair: PairLayers, poolings: tuple[str, ...]) -> go.Figure:
    """Lines of cosines by layer; below, bars that sum to the last cosine."""
    from plotly.subplots import make_subplots

    titles = ("cosine of the two sentences", "contribution of the layer to the last cosine")
    figure = make_subplots(rows=2, shared_xaxes=True, vertical_spacing=0.12, subplot_titles=titles)
    layers = list(range(len(pair.cosines)))
    for pooling in poolings:
        column = pair.poolings.index(pooling)
        colour = POOLING_COLOURS[pooling]
        figure.add_scatter(
            x=layers,
            y=pair.cosines[:, column],
            mode="lines+markers",
            name=pooling,
            legendgroup=pooling,
            line={"color": colour, "width": 2.5},
            marker={"symbol": POOLING_SYMBOLS[pooling], "size": 9},
            hovertemplate=f"{pooling} of layer %{{x}}: %{{y:.3f}}<extra></extra>",
            row=1,
            col=1,
        )
        figure.add_bar(
            x=layers,
            y=pair.contributions[:, column],
            name=pooling,
            legendgroup=pooling,
            showlegend=False,
            marker={"color": colour},
            hovertemplate=f"layer %{{x}} adds %{{y:+.3f}} ({pooling})<extra></extra>",
            row=2,
            col=1,
        )
    # every other label if there are many
    figure.update_xaxes(tickvals=layers[:: 1 if len(layers) <= 13 else 2], zeroline=False)
    figure.update_xaxes(title="layer", row=2, col=1)
    figure.update_yaxes(zeroline=True)
    return figure.update_layout(
        height=520,
        barmode="group",
        hovermode="closest",
        margin={"l": 0, "r": 8, "t": 70, "b": 40},
        legend={"orientation": "h", "y": 1.08, "yanchor": "bottom", "x": 0},
    )


def side_by_side(sides: dict[str, tuple[PairLayers, str, tuple[int, ...]]]) -> go.Figure:
    """The cosine of two sentences by layer, a line for each side under its pooling; the chosen layers stand out."""
    figure = go.Figure()
    most = 0
    for name, (pair, pooling, read) in sides.items():
        cosines = pair.cosines[:, pair.poolings.index(pooling)]
        layers = list(range(len(cosines)))
        most = max(most, len(layers))
        figure.add_scatter(
            x=layers,
            y=cosines,
            mode="lines+markers",
            name=f"{name} ({pooling})",
            line={"color": SIDES["AB".index(name)], "width": 2.5},
            marker={"size": [14 if layer in read else 7 for layer in layers]},
            hovertemplate=f"{name}, {pooling} of layer %{{x}}: %{{y:.3f}}<extra></extra>",
        )
    figure.update_xaxes(title="layer", tickvals=list(range(0, most, 1 if most <= 13 else 2)), zeroline=False)
    figure.update_yaxes(title="cosine", zeroline=False)
    return figure.update_layout(
        height=340,
        hovermode="closest",
        showlegend=True,
        margin={"l": 0, "r": 8, "t": 40, "b": 40},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
    )
