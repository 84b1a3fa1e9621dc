"""Bars for each probe pack: mean cosines with a point for every pair, and shares of pairs that are distinguished."""

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go

from explorer.drawing.style import QUIET, SIDES, Draft, hover_text
from explorer.measuring.scores.judge import percent
from explorer.measuring.sentences.probe_cosines import Probed

_SHIFT = 0.2  # distance of a side from the middle of its pack


def packs_side_by_side(sides: dict[str, Probed]) -> go.Figure:
    """A bar of the mean cosine for every pack and side, and a point for every pair."""
    draft = Draft()
    packs = next(iter(sides.values())).packs
    for name, side in sides.items():
        shift = 0.0 if len(sides) == 1 else (-_SHIFT, _SHIFT)["AB".index(name)]
        _add_side(draft, name, side, [place + shift for place in range(len(packs))])
    alike = sum(pack.same for pack in packs)
    draft.line(x=alike - 0.5, color=QUIET, width=1.5, dash="dot")
    for x, anchor, text in ((alike - 0.55, "right", "same meaning"), (alike - 0.45, "left", "different meaning")):
        draft.note(text, x=x, y=1, yref="paper", yanchor="bottom", xanchor=anchor)
    draft.x_axes(
        tickvals=list(range(len(packs))), ticktext=[pack.name for pack in packs], zeroline=False, fixedrange=True
    )
    draft.y_axes(title="cosine", zeroline=True)
    return draft.figure(
        430,
        barmode="overlay",
        margin={"t": 60, "b": 30},
        legend={"y": 1.08},
    )


def _add_side(draft: Draft, name: str, side: Probed, middles: list[float]) -> None:
    """The bars of a side, and the pairs of each pack as points."""
    shade = SIDES["AB".index(name)]
    draft.add(
        "bar",
        x=middles,
        y=[side.mean(pack.name) for pack in side.packs],
        width=1.8 * _SHIFT,
        name=name,
        legendgroup=name,
        marker={"color": shade, "opacity": 0.45},
        customdata=[pack.name for pack in side.packs],
        hovertemplate=f"{name}, %{{customdata}}: mean %{{y:.3f}}<extra></extra>",
    )
    points = [
        # spread over the bar in the order of the pairs, the same in A and in B
        (middle + spread, cosine, f"{hover_text(one)}<br>{hover_text(other)}")
        for pack, cosines, middle in zip(side.packs, side.cosines, middles, strict=True)
        for one, other, cosine, spread in zip(
            pack.first, pack.second, cosines, np.linspace(-0.7, 0.7, len(pack)) * _SHIFT, strict=True
        )
    ]
    draft.add(
        "scatter",
        x=[x for x, _, _ in points],
        y=[y for _, y, _ in points],
        mode="markers",
        legendgroup=name,
        showlegend=False,
        marker={"color": shade, "size": 6, "line": {"width": 1, "color": "rgba(255,255,255,.6)"}},
        hovertext=[text for _, _, text in points],
        hovertemplate=f"%{{hovertext}}<br>{name}: %{{y:.3f}}<extra></extra>",
    )


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
