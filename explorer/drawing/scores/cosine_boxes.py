"""Box plots of cosines by gold score."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from explorer.data.kinds import GradedPairs
from explorer.drawing.parts.draft import Draft
from explorer.drawing.parts.style import ACCENT, POOLING_COLOURS, QUIET, hover_text
from explorer.encoding.read.readings import Reading
from explorer.measuring.scores.layer_scores import LayerScores

BINS = 5
# most points with hover text, which would otherwise take megabytes
MOST_HOVERS = 5000


def cosine_by_gold(scores: LayerScores, pairs: GradedPairs, reading: Reading) -> go.Figure:
    """A box of cosines for every fifth of the scale, and a point with hover text for every pair."""
    cosines = scores.cosines_of(reading)
    colour = POOLING_COLOURS.get(reading.pooling, ACCENT)  # the model default has no colour of its own
    edges = np.linspace(scores.gold.min(), scores.gold.max(), BINS + 1)
    bins = np.clip(np.digitize(scores.gold, edges) - 1, 0, BINS - 1)
    draft = Draft()
    _add_points(draft, scores.gold, cosines, pairs)
    for place in range(BINS):
        inside = cosines[bins == place]
        if len(inside):
            draft.add(
                "box",
                y=inside,
                x=np.full(len(inside), (edges[place] + edges[place + 1]) / 2),
                width=0.7 * (edges[1] - edges[0]),
                boxpoints=False,
                line={"color": colour, "width": 2},
                fillcolor="rgba(0,0,0,0)",
                name=f"gold {edges[place]:.1f}–{edges[place + 1]:.1f}, {len(inside)} pairs",
                hoverinfo="y+name",
            )
    draft.x_axes(title="gold score (human)", tickvals=edges, tickformat=".1f", zeroline=False)
    draft.y_axes(title="cosine", zeroline=False)
    return draft.figure(420, showlegend=False, margin={"t": 10})


def _add_points(draft: Draft, gold: NDArray[np.float64], cosines: NDArray[np.float64], pairs: GradedPairs) -> None:
    texts = None
    if len(pairs) <= MOST_HOVERS:
        texts = [
            f"{hover_text(first)}<br>{hover_text(second)}"
            for first, second in zip(pairs.first, pairs.second, strict=True)
        ]
    draft.add(
        "scattergl",
        x=gold,
        y=cosines,
        mode="markers",
        marker={"size": 5, "color": QUIET, "opacity": 0.45},
        text=texts,
        hovertemplate=("%{text}<br>" if texts else "") + "gold score: %{x:.2f} · cosine: %{y:.3f}<extra></extra>",
        name="pairs",
    )
