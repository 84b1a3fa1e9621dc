"""Histogram of the number of nearest neighbours that sentences kept."""

from __future__ import annotations

import plotly.graph_objects as go

from explorer.drawing.parts.draft import Draft
from explorer.drawing.parts.style import ACCENT, QUIET
from explorer.measuring.neighbours.neighbour_overlap import Overlap


def neighbours_kept(overlap: Overlap) -> go.Figure:
    """A bar for each number of preserved neighbours, from none to all, and a line at the mean.

    The hover text has the Jaccard index of each bar, which does not grow in equal steps.
    """
    counts = overlap.counts()
    kept = list(range(overlap.k + 1))
    draft = Draft()
    draft.add(
        "bar",
        x=kept,
        y=counts,
        marker={"color": QUIET},
        customdata=[
            [100 * count / max(1, counts.sum()), one / (2 * overlap.k - one)]
            for one, count in zip(kept, counts, strict=True)
        ],
        hovertemplate="%{x} of " + f"{overlap.k}" + " kept: Jaccard %{customdata[1]:.2f}<br>"
        "%{y:,} sentences, %{customdata[0]:.1f} %<extra></extra>",
    )
    mean = float(overlap.kept.mean())
    draft.line(x=mean, color=ACCENT, width=3)
    draft.note(f"mean {mean:.1f}", x=mean, y=1, yref="paper", yanchor="bottom")
    draft.x_axes(
        title=f"of {overlap.k} nearest neighbours in A, kept in B",
        range=[-0.6, overlap.k + 0.6],
        tickformat="d",
        fixedrange=True,
        zeroline=False,
    )
    draft.y_axes(title="sentences", fixedrange=True, zeroline=False)
    return draft.figure(320, showlegend=False, bargap=0.15)
