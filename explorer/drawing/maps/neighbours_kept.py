"""Histogram of the number of nearest neighbours that sentences kept."""

from __future__ import annotations

import plotly.graph_objects as go

from explorer.drawing.style import ACCENT, QUIET, laid_out
from explorer.measuring.neighbours.neighbour_overlap import Overlap


def neighbours_kept(overlap: Overlap) -> go.Figure:
    """A bar for each number of preserved neighbours, from none to all, and a line at the mean.

    The hover text has the Jaccard index of each bar, which does not grow in equal steps.
    """
    counts = overlap.counts()
    kept = list(range(overlap.k + 1))
    figure = go.Figure()
    figure.add_bar(
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
    figure.add_vline(x=mean, line={"color": ACCENT, "width": 3})
    figure.add_annotation(
        x=mean, y=1, yref="paper", yanchor="bottom", text=f"mean {mean:.1f}", showarrow=False, font={"color": ACCENT}
    )
    figure.update_xaxes(
        title=f"of {overlap.k} nearest neighbours in A, kept in B",
        range=[-0.6, overlap.k + 0.6],
        tickformat="d",
        fixedrange=True,
        zeroline=False,
    )
    figure.update_yaxes(title="sentences", fixedrange=True, zeroline=False)
    return laid_out(figure, 320, showlegend=False, bargap=0.15)
