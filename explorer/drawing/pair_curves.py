"""How alike does each layer find two sentences, and what does it add to the last cosine?"""

from __future__ import annotations

import plotly.graph_objects as go

from explorer.drawing.style import POOLING_COLOURS, POOLING_SYMBOLS
from explorer.measuring.pair_layers import PairLayers


def cosines_and_contributions(pair: PairLayers, poolings: tuple[str, ...]) -> go.Figure:
    """Lines of cosines by layer; below, over the same layers, bars that sum to the last of them."""
    from plotly.subplots import make_subplots

    titles = ("cosine of the two sentences", "what the layer adds to the last cosine")
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
    # every other label of many, so that they stand apart on a narrow screen
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
