"""Figures of A and B: the grid of score differences, and the scores by layer with the interval of the difference."""

import numpy as np
import plotly.graph_objects as go

from explorer.drawing.scores.grid import Cells, ColourScale, cell_grid
from explorer.drawing.style import ACCENT, DIFFERENCE_SCALE, QUIET, SIDES, Draft, text_colours
from explorer.encoding.read.pooling import OWN, Reading
from explorer.measuring.comparing.comparison import Comparison
from explorer.measuring.scores.bootstrap import Interval
from explorer.measuring.scores.layer_scores import NO_SCORE, why_missing
from explorer.measuring.scores.verdict import CI


def difference_grid(
    comparison: Comparison,
    grid: Interval,
    own: Interval | None = None,
    widest: float | None = None,
    name: str = "B - A",
) -> go.Figure:
    """B - A in every cell; blue: B is better. A difference that could be chance is hollow.

    A cell without a difference says so in grey, and why in its hover text. If both declare a model default, its
    difference is above. Grids of one `widest` have one scale of colour; `name` is the label of a difference in hover
    text. The chosen layer & pooling is framed if A and B use the same one.
    """
    widest = widest or _widest(grid, own)
    poolings = comparison.one.poolings
    every = [(row, column) for row in range(len(comparison.rows)) for column in range(len(poolings))]
    notes = [
        _note(comparison, Reading(comparison.rows[row], poolings[column]), grid, (row, column), name)
        for row, column in every
    ]
    of_own = None if own is None else _cells(_one_cell(own), [_note(comparison, OWN, own, (), name)], widest)
    chosen = comparison.one_reading if comparison.one_reading == comparison.other_reading else None
    labels = [row.label for row in comparison.rows]
    scale: ColourScale = (-widest, widest, DIFFERENCE_SCALE)
    return cell_grid(comparison.rows, poolings, labels, _cells(grid, notes, widest), of_own, scale, chosen)


def _cells(differences: Interval, notes: list[str], widest: float) -> Cells:
    values, sure = differences.difference, differences.sure
    missing = np.isnan(values)
    return Cells(
        heat=np.where(sure, values, np.nan),
        texts=[NO_SCORE if np.isnan(value) else f"{value:+.2f}" for value in values.flat],
        # a hollow cell, and one without a number, has the text of the page
        text_colours=[
            colour if is_sure else None
            for colour, is_sure in zip(text_colours(values, -widest, widest, DIFFERENCE_SCALE), sure.flat, strict=True)
        ],
        notes=notes,
        missing=missing,
        framed=~missing & ~sure,
    )


def _one_cell(own: Interval) -> Interval:
    return Interval(*(np.reshape(part, (1, 1)) for part in (own.difference, own.low, own.high)))


def _widest(*several: Interval | None) -> float:
    every = np.concatenate([np.abs(np.ravel(one.difference)) for one in several if one is not None])
    return float(np.nanmax(every)) if np.isfinite(every).any() else 1.0


def _note(comparison: Comparison, reading: Reading, interval: Interval, at: tuple[int, ...], name: str) -> str:
    title = reading.title
    for scores in (comparison.one, comparison.other):
        why = why_missing(scores, reading)
        if why:
            return f"<b>{title}</b><br>{NO_SCORE}:<br>" + why.replace(": ", ":<br>")
    if np.isnan(interval.difference[at]):
        return f"<b>{title}</b><br>no correlation on one side"
    verdict = "significant" if interval.sure[at] else "could be chance"
    return (
        f"<b>{title}</b><br>{name}: {interval.difference[at]:+.2f}<br>{CI}: "
        f"{interval.low[at]:+.2f} to {interval.high[at]:+.2f}<br>{verdict}"
    )


def compared_by_layer(
    comparison: Comparison, pooling: str, metric: str, aggregate: str, grid: Interval | None
) -> go.Figure:
    """The score of both by layer under one pooling, and the interval of the difference below."""
    draft = Draft(rows=1 if grid is None else 2, shared=True, down=0.12)
    for name, scores, colour in (("A", comparison.one, SIDES[0]), ("B", comparison.other, SIDES[1])):
        draft.add(
            "scatter",
            x=list(range(scores.last + 1)),
            y=scores.table(metric, aggregate)[: scores.last + 1, scores.poolings.index(pooling)],
            mode="lines+markers",
            name=name,
            line={"color": colour, "width": 2.5},
            marker={"size": 8},
            hovertemplate=f"{name}, layer %{{x}}: %{{y:.2f}}<extra></extra>",
            row=1,
        )
    if grid is not None:
        _add_intervals(draft, grid, comparison.one.poolings.index(pooling), comparison.one.last + 1)
    return draft.figure(460, legend={"y": 1.04})


def _add_intervals(draft: Draft, grid: Interval, column: int, layers: int) -> None:
    middle, low, high = (side[:layers, column] for side in (grid.difference, grid.low, grid.high))
    draft.add(
        "scatter",
        x=list(range(layers)),
        y=middle,
        mode="markers",
        marker={"size": 8, "color": ACCENT},
        error_y={
            "type": "data",
            "symmetric": False,
            "array": high - middle,
            "arrayminus": middle - low,
            "color": ACCENT,
        },
        customdata=np.stack([low, high], axis=1),
        hovertemplate="layer %{x}: %{y:+.2f}<extra></extra>",
        showlegend=False,
        row=2,
    )
    draft.line(y=0, color=QUIET, width=1.5, row=2)
    draft.y_axes(title="B - A", zeroline=False, row=2)
    draft.x_axes(title="layer", zeroline=False, row=2)
