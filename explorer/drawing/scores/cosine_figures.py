"""Figures of cosines by gold score: box plots, or strips for labels with two values."""

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
WIDTH = 0.38  # of a strip, to either side of its label
GRID = 200  # places at which the density is computed
Floats = NDArray[np.float64]


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


def cosines_by_label(gold: Floats, cosines: Floats, pairs: GradedPairs, threshold: float | None) -> go.Figure:
    """A strip for each label, and a line at the threshold if there is one."""
    labels = np.unique(gold)
    draft = Draft()
    texts = [
        f"{hover_text(first)}<br>{hover_text(second)}"
        for first, second in (zip(pairs.first, pairs.second, strict=True) if len(pairs) <= MOST_HOVERS else ())
    ]
    random = np.random.default_rng(0)
    for place, (label, colour) in enumerate(zip(labels, (QUIET, ACCENT), strict=True)):
        rows = np.flatnonzero(gold == label)
        jitter = random.uniform(-WIDTH / 2, WIDTH / 2, len(rows))
        draft.add(
            "scattergl",
            x=place + jitter,
            y=cosines[rows],
            mode="markers",
            marker={"size": 5, "color": colour, "opacity": 0.5},
            text=[texts[row] for row in rows] if texts else None,
            hovertemplate=("%{text}<br>" if texts else "") + f"label {label:g} · cosine: %{{y:.3f}}<extra></extra>",
            name=f"label {label:g}, {len(rows):,} pairs",
        )
        at, density = _density(cosines[rows])
        draft.add(
            "scatter",
            x=place + WIDTH * np.concatenate([density, -density[::-1]]),
            y=np.concatenate([at, at[::-1]]),
            mode="lines",
            line={"color": colour, "width": 2},
            hoverinfo="skip",
            showlegend=False,
        )
    if threshold is not None:
        draft.line(y=threshold, color=ACCENT, dash="dash", width=1.5)
        draft.note(
            f"best F1 from {threshold:.3f}", x=0.5, xref="paper", xanchor="center", y=threshold, yanchor="bottom"
        )
    draft.x_axes(
        title="label", tickvals=list(range(len(labels))), ticktext=[f"{label:g}" for label in labels], zeroline=False
    )
    draft.y_axes(title="cosine", zeroline=False)
    return draft.figure(420, showlegend=True, margin={"t": 10})


def _density(cosines: Floats) -> tuple[Floats, Floats]:
    """A Gaussian kernel density with Scott's bandwidth, scaled so that its peak is 1."""
    spread = float(cosines.std()) or 1e-3
    width = spread * len(cosines) ** -0.2
    at = np.linspace(cosines.min() - 2 * width, min(1.0, cosines.max() + 2 * width), GRID)
    # counted in bins as fine as the grid, so that a million pairs take no longer
    counts, edges = np.histogram(cosines, bins=GRID)
    middles = (edges[1:] + edges[:-1]) / 2
    density = np.exp(-0.5 * ((at[:, None] - middles[None, :]) / width) ** 2) @ counts
    return at, np.asarray(density / density.max())
