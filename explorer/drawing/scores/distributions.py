"""Distributions: cosines by gold score or label, of one model or of A and B, and how many neighbours are kept."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from explorer import in_words
from explorer.data.set_items import counted, several
from explorer.data.text_sets import GradedPairs
from explorer.drawing.style import ACCENT, DIFFERENCE_SCALE, QUIET, SIDES, Draft, hover_text, pooling_colour
from explorer.encoding.read.pooling import Reading
from explorer.measuring.comparing.gold_bins import GoldBins
from explorer.measuring.neighbours.vector_index import Overlap
from explorer.measuring.scores.calibration import Calibration
from explorer.measuring.scores.layer_scores import LayerScores

BINS = 5
GAINS = 20  # bins of gains and losses, half of them each
UNCHANGED = 1e-7  # a gain × 100 below which an item did not change
# most points with hover text, which would otherwise take megabytes
MOST_HOVERS = 5000
WIDTH = 0.38  # of a strip, to either side of its label
GRID = 200  # places at which the density is computed
ROW = 92  # of a histogram, its label too
SPACE = 0.3  # between rows, in rows
HEADROOM = 1.08  # over the fullest bin
LOWER, HIGHER = (colour for place, colour in DIFFERENCE_SCALE if place != 0.5)
Floats = NDArray[np.float64]


def cosine_by_gold(scores: LayerScores, pairs: GradedPairs, reading: Reading) -> go.Figure:
    """A box of cosines for every fifth of the scale, and a point with hover text for every pair."""
    cosines = scores.cosines_of(reading)
    colour = pooling_colour(reading.pooling)
    gold = np.array(pairs.own_gold)
    edges = np.linspace(gold.min(), gold.max(), BINS + 1)
    bins = np.clip(np.digitize(gold, edges) - 1, 0, BINS - 1)
    draft = Draft()
    points = {"x": gold, "y": cosines, "marker": {"size": 5, "color": QUIET, "opacity": 0.45}, "name": "pairs"}
    _add_pairs(draft, pairs, range(len(pairs)), "gold score: %{x:.2f}", **points)
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


def _add_pairs(draft: Draft, pairs: GradedPairs, rows: Iterable[int], value: str, **points: Any) -> None:
    """A point for each of some pairs, with both sentences on hover, unless there are too many pairs."""
    texts = None
    if len(pairs) <= MOST_HOVERS:
        texts = [f"{hover_text(pairs.first[row])}<br>{hover_text(pairs.second[row])}" for row in rows]
    hover = ("%{text}<br>" if texts else "") + f"{value} · cosine: %{{y:.3f}}<extra></extra>"
    draft.add("scattergl", **points, mode="markers", text=texts, hovertemplate=hover)


def cosines_by_label(gold: Floats, cosines: Floats, pairs: GradedPairs, threshold: float | None) -> go.Figure:
    """A strip for each label, and a line at the threshold if there is one."""
    labels = np.unique(gold)
    draft = Draft()
    random = np.random.default_rng(0)
    for place, (label, colour) in enumerate(zip(labels, (QUIET, ACCENT), strict=True)):
        rows = np.flatnonzero(gold == label)
        jitter = random.uniform(-WIDTH / 2, WIDTH / 2, len(rows))
        points = {"x": place + jitter, "y": cosines[rows], "marker": {"size": 5, "color": colour, "opacity": 0.5}}
        _add_pairs(draft, pairs, rows, f"label {label:g}", name=f"label {label:g}, {len(rows):,} pairs", **points)
        at, density = _density(cosines[rows])
        draft.path(
            x=place + WIDTH * np.concatenate([density, -density[::-1]]),
            y=np.concatenate([at, at[::-1]]),
            line={"color": colour, "width": 2},
            hoverinfo="skip",
            showlegend=False,
        )
    if threshold is not None:
        draft.line(y=threshold, color=ACCENT, dash="dash", width=1.5)
        draft.note(
            f"best F1 from {in_words.number(threshold, 3)}",
            x=0.5,
            xref="paper",
            xanchor="center",
            y=threshold,
            yanchor="bottom",
        )
    draft.x_axes(
        title="label", tickvals=list(range(len(labels))), ticktext=[f"{label:g}" for label in labels], zeroline=False
    )
    draft.y_axes(title="cosine", zeroline=False)
    return draft.figure(420, showlegend=True, margin={"t": 10})


def reliability_of(known: Calibration) -> go.Figure:
    """The share of test pairs that match by their predicted probability, for both curves; on the diagonal is good."""
    draft = Draft()
    draft.path(x=[0, 1], y=[0, 1], line={"color": QUIET, "dash": "dot"}, name="perfectly calibrated")
    for colour, (name, found) in zip(SIDES, known.reliability.items(), strict=True):
        bins = found.bins
        shares = [one.matches for one in bins]
        draft.curve(
            colour,
            x=[one.predicted for one in bins],
            y=[one.value for one in shares],
            name=name + " (used)" * (name == known.chosen),
            error_y={
                "array": [one.high - one.value for one in shares],
                "arrayminus": [one.value - one.low for one in shares],
                "thickness": 1,
                "width": 3,
            },
            text=[f"{one.pairs:,} pairs" for one in bins],
            hovertemplate="probability %{x:.2f}, share of matches %{y:.2f}, %{text}<extra></extra>",
        )
    draft.x_axes(title="predicted probability of a match", range=[-0.02, 1.02], zeroline=False)
    draft.y_axes(title="share of matches", range=[-0.02, 1.02], zeroline=False)
    return draft.figure(380, showlegend=True, margin={"t": 10})


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


def cosines_by_gold(bins: GoldBins) -> go.Figure:
    """A histogram for every band of gold scores, highest on top, with a tick at each median."""
    bands, sides = bins.medians.shape
    rows = range(bands)
    top = HEADROOM * (float(bins.shares.max()) or 1.0)
    width = bins.edges[1] - bins.edges[0]
    first = next(row for row in rows if bins.pairs[bands - 1 - row])
    height = 1 / (bands + SPACE * (bands - 1))
    draft, axes = Draft(), {}
    for row in rows:
        band, axis = bands - 1 - row, _axis(row)
        for side in reversed(range(sides)):  # A's line over what fills B's
            if not np.isnan(bins.medians[band, side]):  # else no pairs are in this band, or no cosines
                _add_side(draft, bins, band, side, axis, top, legend=row == first)
        pairs = bins.pairs[band]
        count = counted(pairs, "pair") if pairs else "no pairs"
        where = {"xref": "x domain", "yref": f"{axis} domain", "xanchor": "left", "yanchor": "bottom"}
        draft.note(f"gold score {bins.labels[band]}: {count}", x=0, y=1, borderpad=0, **where)
        bottom = (1 + SPACE) * height * band
        axes[axis.replace("y", "yaxis")] = {
            "domain": [bottom, min(1.0, bottom + height)],  # plotly refuses 1 plus a rounding error
            "range": [0, top],
            "nticks": 3,
            "tickformat": ".0%",
            "zerolinecolor": QUIET,
            "fixedrange": True,
        }
    # one axis of cosines for all rows, below the lowest
    draft.x_axes(
        range=[bins.edges[0] - width / 2, bins.edges[-1] + width / 2],
        zeroline=False,
        title="cosine",
        anchor=_axis(bands - 1),
    )
    return draft.figure(
        95 + ROW * bands,
        margin={"t": 52},  # room for the buttons above the legend
        legend={"orientation": "h", "y": 1, "yanchor": "bottom", "x": 1, "xanchor": "right"},
        **axes,
    )


def _axis(place: int) -> str:
    """Plotly's name of a row's y axis, counted from the top."""
    return f"y{place + 1}" if place else "y"


def _add_side(draft: Draft, bins: GoldBins, band: int, side: int, axis: str, top: float, *, legend: bool) -> None:
    """The outline of a side, steps through the middles of the bins with an empty one at each end, and its median."""
    name, colour, shares, median = "AB"[side], SIDES[side], bins.shares[band, side], bins.medians[band, side]
    width = bins.edges[1] - bins.edges[0]
    middles = (bins.edges[:-1] + bins.edges[1:]) / 2
    notes = [
        f"{name}, gold score {bins.labels[band]}<br>cosine {in_words.interval(low, high, digits=3)}<br>"
        f"{in_words.percent(share, 1)}: {count:,} of {bins.pairs[band]:,} pairs"
        for low, high, share, count in zip(
            bins.edges[:-1], bins.edges[1:], shares, bins.counts[band, side], strict=True
        )
    ]
    draft.path(
        x=[middles[0] - width, *middles, middles[-1] + width],
        y=[0, *shares, 0],
        yaxis=axis,
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
    draft.path(
        x=[median, median],
        y=[0, top],
        yaxis=axis,
        line={"color": colour, "width": 1.5, "dash": "dot"},
        legendgroup=name,
        showlegend=False,
        hovertext=f"{name}, gold score {bins.labels[band]}<br>median of {bins.pairs[band]:,} pairs: "
        f"{in_words.number(median, 3)}",
        hoverinfo="text",
    )


def item_gains(gains: Floats, title: str, item: str) -> go.Figure:
    """A histogram of what items gained, losses to the left of 0 and gains to the right, in equal bins.

    Items that did not change are left out: they would hide the others.
    """
    changed = gains[np.isfinite(gains) & (np.abs(gains) > UNCHANGED)]
    reach = float(np.abs(changed).max()) if len(changed) else 1.0
    counts, edges = np.histogram(changed, GAINS, (-reach, reach))
    middles = (edges[1:] + edges[:-1]) / 2
    draft = Draft()
    draft.add(
        "bar",
        x=middles,
        y=counts,
        width=0.92 * (edges[1] - edges[0]),
        marker={"color": [LOWER if middle < 0 else HIGHER for middle in middles]},
        customdata=[in_words.interval(*ends) for ends in pairwise(edges)],
        hovertemplate="%{customdata}: %{y:,} " + several(item) + "<extra></extra>",
    )
    draft.line(x=0, color=QUIET, width=1.5)
    draft.x_axes(title=title, range=[-1.05 * reach, 1.05 * reach], zeroline=False)
    draft.y_axes(title=several(item), rangemode="tozero")
    return draft.figure(300, showlegend=False, margin={"t": 10})


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
