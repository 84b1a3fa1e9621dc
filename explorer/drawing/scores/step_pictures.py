"""Figures of one step of a run among all: map, alignment and uniformity, score."""

import math
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from explorer.drawing.style import ACCENT, QUIET, SIDES, Draft, hover_text, segments
from explorer.measuring.maps.step_maps import Travel
from explorer.measuring.scores.bootstrap import Interval
from explorer.measuring.scores.verdict import CI
from explorer.run_folder import Evaluation

HEIGHT = 430
MARGIN = {"t": 12}
# the colour of the line, faint
_SHADE = "rgba(140, 107, 177, 0.2)"
# not a star, which marks the best step in the score figure
_MARKED = {"symbol": "circle", "size": 14, "color": ACCENT, "line": {"width": 1, "color": "#000000"}}


def places(travel: Travel, sentences: Sequence[str], at: int) -> go.Figure:
    """The positions of sentences at a step, each with a thin line from its start."""
    now, first = travel.places[at], travel.places[0]
    draft = Draft()
    paths = segments(first, now)
    draft.add(
        "scatter",
        x=paths[:, 0],
        y=paths[:, 1],
        mode="lines",
        line={"color": QUIET, "width": 0.7},
        opacity=0.5,
        hoverinfo="skip",
        name="path",
    )
    draft.add(
        "scatter",
        x=now[:, 0].astype(np.float32),
        y=now[:, 1].astype(np.float32),
        mode="markers",
        name="sentence",
        text=[hover_text(sentence) for sentence in sentences],
        customdata=np.arange(len(sentences), dtype=np.int32),  # the same number for a sentence at every step
        marker={
            "size": 8,
            "color": travel.turned[at].astype(np.float32),
            "cmin": 0,
            "cmax": max(1e-6, float(travel.turned.max())),
            "colorscale": "Viridis",
            "colorbar": {"title": {"text": "turned", "side": "right"}, "thickness": 12, "outlinewidth": 0},
            "line": {"width": 0.5, "color": QUIET},
        },
        hovertemplate="%{text}<br>shift %{marker.color:.3f}<extra></extra>",
    )
    # the same range at every step
    for settle, ends in ((draft.x_axes, travel.places[..., 0]), (draft.y_axes, travel.places[..., 1])):
        low, high = float(ends.min()), float(ends.max())
        room = 0.05 * max(high - low, 1e-6)
        settle(
            range=[low - room, high + room],
            showticklabels=False,
            zeroline=False,
            showgrid=False,
            constrain="domain",
        )
    draft.y_axes(scaleanchor="x")  # equal scales on both axes
    return draft.figure(HEIGHT, showlegend=False, margin=MARGIN)


def alignment_and_uniformity(evaluations: Sequence[Evaluation], at: int) -> go.Figure:
    """The path of a run: alignment (lower is better) by uniformity (lower is better)."""
    known = [one for one in evaluations if one.alignment is not None and one.uniformity is not None]
    draft = Draft()
    draft.add(
        "scatter",
        x=[one.uniformity for one in known],
        y=[one.alignment for one in known],
        mode="lines+markers",
        customdata=[one.step for one in known],
        line={"color": SIDES[0], "width": 2},
        marker={"size": 7},
        hovertemplate="step %{customdata}: uniformity %{x:.3f}, alignment %{y:.3f}<extra></extra>",
        name="evaluations",
    )
    for one in known:
        if one.step == evaluations[at].step:
            draft.add(
                "scatter",
                x=[one.uniformity],
                y=[one.alignment],
                mode="markers",
                marker=_MARKED,
                hoverinfo="skip",
                name="this step",
            )
    for one in known[:1]:
        draft.note("before", x=one.uniformity, y=one.alignment, showarrow=True, ax=24, ay=-18)
    draft.x_axes(title="uniformity (lower is better)", zeroline=False)
    draft.y_axes(title="alignment (lower is better)", zeroline=False)
    return draft.figure(HEIGHT, showlegend=False, margin=MARGIN)


def score_by_step(
    steps: Sequence[int], scores: Sequence[float], since: Sequence[Interval], at: int, metric: str, height: int
) -> go.Figure:
    """The score of one layer & pooling at every saved step; this step is marked.

    `since` is the change since the first step: the band is its confidence interval.
    """
    draft = Draft()
    for edge, fill in ((_edge(scores, since, "high"), None), (_edge(scores, since, "low"), "tonexty")):
        draft.add(
            "scatter",
            x=list(steps),
            y=edge,
            mode="lines",
            line={"width": 0},
            fill=fill,
            fillcolor=_SHADE,
            hoverinfo="skip",
            name="interval",
        )
    draft.add(
        "scatter",
        x=list(steps),
        y=_known(scores),
        mode="lines+markers",
        line={"color": SIDES[0], "width": 2},
        marker={"size": 7},
        customdata=[_since_text(steps[0], one) for one in since],
        hovertemplate="step %{x}: %{y:.2f}<br>%{customdata}<extra></extra>",
        name="steps",
    )
    if math.isnan(scores[at]):
        draft.note("no correlation at this step", x=0.5, y=0.5, xref="paper", yref="paper")
    else:
        draft.add(
            "scatter", x=[steps[at]], y=[scores[at]], mode="markers", marker=_MARKED, hoverinfo="skip", name="this step"
        )
    draft.x_axes(title="step", zeroline=False)
    draft.y_axes(title=f"{metric} × 100", zeroline=False)
    # the same top margin as the grids
    return draft.figure(height, showlegend=False)


def _edge(scores: Sequence[float], since: Sequence[Interval], side: str) -> list[float | None]:
    return _known([scores[0] + float(getattr(one, side)) for one in since])


def _known(scores: Sequence[float]) -> list[float | None]:
    """Missing values are gaps, never 0."""
    return [None if math.isnan(score) else score for score in scores]


def _since_text(first: int, change: Interval) -> str:
    if math.isnan(float(change.difference)):
        return "no correlation on one side"
    low, high = float(change.low), float(change.high)
    return f"{float(change.difference):+.2f} since step {first}<br>{CI}: {low:+.2f} to {high:+.2f}"
