"""Bars of the share of pairs distinguished from a paraphrase, for each kind of difference."""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go

from explorer.drawing.parts.draft import Draft
from explorer.drawing.parts.style import QUIET, SIDES
from explorer.measuring.scores.meaning_judges import percent


def shares_side_by_side(shares: Mapping[str, Mapping[str, float]]) -> go.Figure:
    """A bar for each pack and side (A, B), in %, with a line at chance; `shares` are from 0 to 1, by side and pack."""
    draft = Draft()
    for name, of_side in shares.items():
        draft.add(
            "bar",
            x=list(of_side),
            y=[100 * share for share in of_side.values()],
            name=name,
            text=[percent(share) for share in of_side.values()],
            textposition="outside",
            cliponaxis=False,
            marker={"color": SIDES["AB".index(name)], "opacity": 0.8},
            hovertemplate=f"{name}, %{{x}}: %{{y:.1f}} %<extra></extra>",
        )
    draft.line(y=50, color=QUIET, width=1.5, dash="dot")
    draft.note("chance", x=1.005, xref="paper", xanchor="left", y=50, yanchor="middle")
    draft.x_axes(fixedrange=True)
    draft.y_axes(title="distinguished, %", range=[0, 105], fixedrange=True)
    return draft.figure(330, margin={"r": 56, "b": 30})
