"""Histograms of cosines for every band of gold scores, A and B overlaid."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from explorer.drawing.parts.draft import Draft
from explorer.drawing.parts.style import QUIET, SIDES
from explorer.measuring.comparing.cosines_by_grade import GoldBin, GoldBins

ROW = 92  # its label too
SPACE = 0.3  # between rows, in rows
HEADROOM = 1.08  # over the fullest bin


def cosines_by_gold(found: GoldBins) -> go.Figure:
    """A histogram for every band of gold scores, highest on top, with a tick at each median."""
    bins = found.bins[::-1]
    top = HEADROOM * (max(float(of_grade.shares.max()) for of_grade in bins) or 1.0)
    width = found.edges[1] - found.edges[0]
    first = next(place for place, of_grade in enumerate(bins) if of_grade.pairs)
    draft = Draft()
    for place, of_grade in enumerate(bins):
        for side in reversed(range(len(of_grade.counts))):  # A's line over what fills B's
            if np.isnan(of_grade.medians[side]):
                continue  # no pairs in this band, or no cosines
            _add_outline(draft, found, of_grade, side, _axis(place), legend=place == first)
            _add_median(draft, of_grade, side, _axis(place), top)
        _add_label(draft, of_grade, _axis(place))
    # one axis of cosines for all rows, below the lowest
    draft.x_axes(
        range=[found.edges[0] - width / 2, found.edges[-1] + width / 2],
        zeroline=False,
        title="cosine",
        anchor=_axis(len(bins) - 1),
    )
    return draft.figure(
        95 + ROW * len(bins),
        margin={"t": 52},  # room for the buttons above the legend
        legend={"orientation": "h", "y": 1, "yanchor": "bottom", "x": 1, "xanchor": "right"},
        **{_axis(place).replace("y", "yaxis"): _shares(place, top, len(bins)) for place in range(len(bins))},
    )


def _axis(place: int) -> str:
    """Plotly's name of a row's y axis, counted from the top."""
    return f"y{place + 1}" if place else "y"


def _shares(place: int, top: float, rows: int) -> dict[str, Any]:
    """The axis of a row; all have one scale."""
    row = 1 / (rows + SPACE * (rows - 1))
    bottom = (1 + SPACE) * row * (rows - 1 - place)
    return {
        "domain": [bottom, min(1.0, bottom + row)],  # plotly refuses 1 plus a rounding error
        "range": [0, top],
        "nticks": 3,
        "tickformat": ".0%",
        "zerolinecolor": QUIET,
        "fixedrange": True,
    }


def _add_outline(draft: Draft, found: GoldBins, of_grade: GoldBin, side: int, axis: str, *, legend: bool) -> None:
    """Steps through the middles of the bins, with an empty bin at each end."""
    name, colour = "AB"[side], SIDES[side]
    width = found.edges[1] - found.edges[0]
    middles = (found.edges[:-1] + found.edges[1:]) / 2
    notes = [
        f"{name}, gold score {of_grade.label}<br>cosine {low:.3f} to {high:.3f}<br>{share:.1%}: {count:,} of "
        f"{of_grade.pairs:,} pairs"
        for low, high, share, count in zip(
            found.edges[:-1], found.edges[1:], of_grade.shares[side], of_grade.counts[side], strict=True
        )
    ]
    draft.add(
        "scatter",
        x=[middles[0] - width, *middles, middles[-1] + width],
        y=[0, *of_grade.shares[side], 0],
        yaxis=axis,
        mode="lines",
        line={"shape": "hvh", "color": colour, "width": 2},
        fill="tozeroy" if side else "none",
        fillcolor=f"rgba({','.join(str(int(colour[at : at + 2], 16)) for at in (1, 3, 5))},0.22)",
        name=name,
        legendgroup=name,
        legendrank=side,
        showlegend=legend,
        hovertext=["", *notes, ""],
        hoverinfo=["skip", *["text"] * len(notes), "skip"],
    )


def _add_median(draft: Draft, of_grade: GoldBin, side: int, axis: str, top: float) -> None:
    name, median = "AB"[side], of_grade.medians[side]
    draft.add(
        "scatter",
        x=[median, median],
        y=[0, top],
        yaxis=axis,
        mode="lines",
        line={"color": SIDES[side], "width": 1.5, "dash": "dot"},
        legendgroup=name,
        showlegend=False,
        hovertext=f"{name}, gold score {of_grade.label}<br>median of {of_grade.pairs:,} pairs: {median:.3f}",
        hoverinfo="text",
    )


def _add_label(draft: Draft, of_grade: GoldBin, axis: str) -> None:
    """The label of a row: its gold scores and number of pairs."""
    told = f"{of_grade.pairs:,} pair{'s' * (of_grade.pairs != 1)}" if of_grade.pairs else "no pairs"
    draft.note(
        f"gold score {of_grade.label}: {told}",
        xref="x domain",
        yref=f"{axis} domain",
        x=0,
        y=1,
        xanchor="left",
        yanchor="bottom",
        borderpad=0,
    )
