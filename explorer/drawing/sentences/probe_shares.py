"""Bars of the share of pairs distinguished from a paraphrase, for each kind of difference."""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go

from explorer.drawing.style import QUIET, SIDES


def shares_side_by_side(shares: Mapping[str, Mapping[str, float]]) -> go.Figure:
    """A bar for each pack and side (A, B), in %, with a line at chance; `shares` are from 0 to 1, by side and pack."""
    figure = go.Figure()
    for name, of_side in shares.items():
        figure.add_bar(
            x=list(of_side),
            y=[100 * share for share in of_side.values()],
            name=name,
            text=[f"{share:.0%}" for share in of_side.values()],
            textposition="outside",
            cliponaxis=False,
            marker={"color": SIDES["AB".index(name)], "opacity": 0.8},
            hovertemplate=f"{name}, %{{x}}: %{{y:.1f}} %<extra></extra>",
        )
    figure.add_hline(y=50, line={"color": QUIET, "width": 1.5, "dash": "dot"})
    figure.add_annotation(x=1.005, xref="paper", xanchor="left", y=50, yanchor="middle", text="chance", showarrow=False)
    figure.update_xaxes(fixedrange=True)
    figure.update_yaxes(title="distinguished, %", range=[0, 105], fixedrange=True)
    return figure.update_layout(
        height=330,
        barmode="group",
        margin={"l": 0, "r": 56, "t": 40, "b": 30},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
    )
