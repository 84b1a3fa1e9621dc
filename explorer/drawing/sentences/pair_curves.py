"""Cosine of two sentences by layer, and each layer's contribution to the last cosine."""

from __future__ import annotations

import plotly.graph_objects as go

from explorer.drawing.parts.draft import Draft
from explorer.drawing.parts.style import POOLING_COLOURS, POOLING_SYMBOLS, SIDES
from explorer.measuring.sentences.pair_layers import PairLayers


def cosines_and_contributions(pair: PairLayers, poolings: tuple[str, ...]) -> go.Figure:
    """Lines of cosines by layer; below, bars that sum to the last cosine."""
    titles = ("cosine of the two sentences", "contribution of the layer to the last cosine")
    draft = Draft(rows=2, shared=True, down=0.12, titles=titles)
    layers = list(range(len(pair.cosines)))
    for pooling in poolings:
        column = pair.poolings.index(pooling)
        colour = POOLING_COLOURS[pooling]
        draft.add(
            "scatter",
            x=layers,
            y=pair.cosines[:, column],
            mode="lines+markers",
            name=pooling,
            legendgroup=pooling,
            line={"color": colour, "width": 2.5},
            marker={"symbol": POOLING_SYMBOLS[pooling], "size": 9},
            hovertemplate=f"{pooling} of layer %{{x}}: %{{y:.3f}}<extra></extra>",
            row=1,
        )
        draft.add(
            "bar",
            x=layers,
            y=pair.contributions[:, column],
            name=pooling,
            legendgroup=pooling,
            showlegend=False,
            marker={"color": colour},
            hovertemplate=f"layer %{{x}} adds %{{y:+.3f}} ({pooling})<extra></extra>",
            row=2,
        )
    # every other label if there are many
    draft.x_axes(tickvals=layers[:: 1 if len(layers) <= 13 else 2], zeroline=False)
    draft.x_axes(title="layer", row=2)
    draft.y_axes(zeroline=True)
    return draft.figure(
        520,
        margin={"t": 70},
        legend={"y": 1.08},
    )


def side_by_side(sides: dict[str, tuple[PairLayers, str, tuple[int, ...]]]) -> go.Figure:
    """The cosine of two sentences by layer, a line for each side under its pooling; the chosen layers stand out."""
    draft = Draft()
    most = 0
    for name, (pair, pooling, read) in sides.items():
        cosines = pair.cosines[:, pair.poolings.index(pooling)]
        layers = list(range(len(cosines)))
        most = max(most, len(layers))
        draft.add(
            "scatter",
            x=layers,
            y=cosines,
            mode="lines+markers",
            name=f"{name} ({pooling})",
            line={"color": SIDES["AB".index(name)], "width": 2.5},
            marker={"size": [14 if layer in read else 7 for layer in layers]},
            hovertemplate=f"{name}, {pooling} of layer %{{x}}: %{{y:.3f}}<extra></extra>",
        )
    draft.x_axes(title="layer", tickvals=list(range(0, most, 1 if most <= 13 else 2)), zeroline=False)
    draft.y_axes(title="cosine", zeroline=False)
    return draft.figure(340, showlegend=True, margin={"t": 40})
