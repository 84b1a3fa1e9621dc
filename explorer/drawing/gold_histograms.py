"""What do the cosines of pairs look like, grade by grade, of A and of B over each other?"""

from __future__ import annotations

import plotly.graph_objects as go

from explorer.drawing.grid import laid_out
from explorer.drawing.style import QUIET, SIDES
from explorer.measuring.gold_bins import GoldBin, GoldBins

ROW = 92  # its label too


def cosines_by_gold(found: GoldBins) -> go.Figure:
    """A histogram for every bin of grades, the highest on top: shares of its pairs, and a tick at each median."""
    from plotly.subplots import make_subplots

    rows = len(found.bins)
    figure = make_subplots(
        rows=rows, shared_xaxes=True, shared_yaxes="all", vertical_spacing=0.3 / rows if rows > 1 else 0
    )
    most = max(float(of_grade.shares.max()) for of_grade in found.bins)
    shown = {place for place, of_grade in enumerate(reversed(found.bins)) if of_grade.pairs}
    for place, of_grade in enumerate(reversed(found.bins)):
        for side in reversed(range(len(of_grade.counts))) if of_grade.pairs else ():  # A's line over what fills B's
            _add_outline(figure, found, of_grade, side, place + 1, legend=place == min(shown))
            _add_median(figure, of_grade, side, place + 1, most)
        _add_label(figure, of_grade, place + 1)
    width = found.edges[1] - found.edges[0]
    figure.update_xaxes(range=[found.edges[0] - width / 2, found.edges[-1] + width / 2], zeroline=False)
    figure.update_xaxes(title="cosine", row=rows, col=1)
    figure.update_yaxes(range=[0, most * 1.08], nticks=3, tickformat=".0%", zerolinecolor=QUIET, fixedrange=True)
    legend = {"orientation": "h", "y": 1, "yanchor": "bottom", "x": 1, "xanchor": "right"}
    figure = laid_out(figure, 95 + ROW * rows, hovermode="closest", legend=legend)
    return figure.update_layout(margin_t=52)  # the buttons of a picture stand above its legend


def _add_outline(figure: go.Figure, found: GoldBins, of_grade: GoldBin, side: int, row: int, *, legend: bool) -> None:
    """Steps through the middles of the bins; an empty one at each end lets them rise and fall where a bin does."""
    name, colour = "AB"[side], SIDES[side]
    width = found.edges[1] - found.edges[0]
    middles = (found.edges[:-1] + found.edges[1:]) / 2
    notes = [
        f"{name}, graded {of_grade.label}<br>cosine {low:.3f} to {high:.3f}<br>{share:.1%}: {count:,} of "
        f"{of_grade.pairs:,} pairs"
        for low, high, share, count in zip(
            found.edges[:-1], found.edges[1:], of_grade.shares[side], of_grade.counts[side], strict=True
        )
    ]
    figure.add_scatter(
        x=[middles[0] - width, *middles, middles[-1] + width],
        y=[0, *of_grade.shares[side], 0],
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
        row=row,
        col=1,
    )


def _add_median(figure: go.Figure, of_grade: GoldBin, side: int, row: int, most: float) -> None:
    name, median = "AB"[side], of_grade.medians[side]
    figure.add_scatter(
        x=[median, median],
        y=[0, most * 1.08],
        mode="lines",
        line={"color": SIDES[side], "width": 1.5, "dash": "dot"},
        legendgroup=name,
        showlegend=False,
        hovertext=f"{name}, graded {of_grade.label}<br>median of {of_grade.pairs:,} pairs: {median:.3f}",
        hoverinfo="text",
        row=row,
        col=1,
    )


def _add_label(figure: go.Figure, of_grade: GoldBin, row: int) -> None:
    told = f"{of_grade.pairs:,} pair{'s' * (of_grade.pairs != 1)}" if of_grade.pairs else "no pairs"
    figure.add_annotation(
        text=f"graded {of_grade.label}: {told}",
        xref=f"x{row if row > 1 else ''} domain",
        yref=f"y{row if row > 1 else ''} domain",
        x=0,
        y=1,
        xanchor="left",
        yanchor="bottom",
        showarrow=False,
        borderpad=0,
    )
