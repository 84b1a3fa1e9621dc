"""Token-to-token cosines of two sentences, and each token's contribution to the sentence cosine."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from explorer.drawing.parts.draft import Draft
from explorer.drawing.parts.style import GRID_SCALE, QUIET, SIDES
from explorer.drawing.sentences.attention_heads import FEW, token_label
from explorer.measuring.sentences.token_pairs import MOST, Shares, TokenPair

Span = tuple[float, float]
Labelled = tuple[list[str], NDArray[np.float64]]  # names of tokens or words, and what each contributes


def span_of(*grids: tuple[TokenPair, int]) -> Span:
    """The lowest and the highest cosine of two tokens, each side in its layer."""
    known = np.concatenate([pair.cosines[layer].ravel() for pair, layer in grids])
    if np.isnan(known).all():
        return -1.0, 1.0
    low, high = float(np.nanmin(known)), float(np.nanmax(known))
    return (low, high) if high - low > 1e-6 else (low - 0.01, high + 0.01)


def token_by_token(pair: TokenPair, layer: int, span: Span) -> go.Figure:
    """Cosines of the tokens of the first sentence (rows) and those of the second (columns), from the top left."""
    down, across = ([token_label(token) for token in side[:MOST]] for side in pair.tokens)
    draft = Draft()
    draft.add(
        "heatmap",  # the axes are positions, since equal tokens would share a row
        x=list(range(len(across))),
        y=list(range(len(down))),
        z=pair.cosines[layer],
        zmin=span[0],
        zmax=span[1],
        colorscale=GRID_SCALE,
        colorbar={"thickness": 10},
        xgap=1,
        ygap=1,
        text=[[f"{one} · {other}" for other in across] for one in down],
        hovertemplate="%{text}: %{z:.3f}<extra></extra>",
    )
    still = {"showgrid": False, "zeroline": False, "fixedrange": True}
    some = slice(None, None, -(-len(across) // FEW))
    draft.x_axes(
        side="top",
        tickangle=-90,
        tickvals=list(range(len(across)))[some],
        ticktext=across[some],
        tickfont={"size": 12 if len(across) <= FEW else 9},
        **still,
    )
    draft.y_axes(
        autorange="reversed",
        tickvals=list(range(len(down))),
        ticktext=down,
        tickfont={"size": 12 if len(down) <= FEW else 9},
        **still,
    )
    row = 24 if len(down) <= FEW else 12
    return draft.figure(120 + row * max(4, len(down)), margin={"t": 20, "b": 10})


def token_shares(sides: dict[str, tuple[TokenPair, Shares]]) -> go.Figure:
    """Bars of the contributions of tokens in either sentence, for every side with the same tokens."""
    return contribution_bars(
        {
            name: ((labels(pair.tokens[0]), shares.first), (labels(pair.tokens[1]), shares.second))
            for name, (pair, shares) in sides.items()
        }
    )


def labels(tokens: Sequence[str]) -> list[str]:
    """The labels of the tokens that are shown."""
    return [token_label(token) for token in tokens[:MOST]]


def contribution_bars(sides: dict[str, tuple[Labelled, Labelled]]) -> go.Figure:
    """Bars for the labelled contributions of either sentence, next to each other for every side."""
    draft = Draft(cols=2, across=0.2, titles=("sentence 1", "sentence 2"))
    rows = 1
    for name, sentences in sides.items():
        for column, (names, values) in enumerate(sentences, start=1):
            rows = max(rows, len(names))
            draft.add(
                "bar",
                x=values[: len(names)],
                y=list(range(len(names))),
                orientation="h",
                name=name,
                legendgroup=name,
                showlegend=column == 1,
                marker={"color": SIDES["AB".index(name)]},
                hovertext=names,
                hovertemplate=f"%{{hovertext}}: %{{x:+.3f}} ({name})<extra></extra>",
                row=1,
                col=column,
            )
            draft.y_axes(tickvals=list(range(len(names))), ticktext=names, row=1, col=column)
    # one range for both sentences, so that all bars have the same width
    draft.y_axes(range=[rows - 0.5, -0.5], showgrid=False, zeroline=False, fixedrange=True)
    draft.x_axes(zeroline=True, zerolinecolor=QUIET, nticks=6, fixedrange=True, matches="x")
    return draft.figure(
        110 + (16 + 8 * len(sides)) * max(4, rows),
        bargap=0.25,
        showlegend=True,  # names the side if only one has contributions
        margin={"t": 70, "b": 30},
        legend={"y": 1, "yanchor": "top", "yref": "container"},
    )
