"""Curves by layer, of scores and of embedding geometry, and by the share of a tuned model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from explorer import in_words
from explorer.drawing import style
from explorer.drawing.scores.grid import CELL_HEIGHT, heights_of, notes
from explorer.encoding.read.pooling import OWN, Reading
from explorer.measuring.comparing.comparison import Comparison, shown_cells
from explorer.measuring.geometry.layer_geometry import LayerGeometry, Measure
from explorer.measuring.scores.bootstrap import Floats, Interval
from explorer.measuring.scores.layer_scores import LayerScores

ACROSS, HEIGHT = 3, 220  # figures in a row, pixels of each
Lines = Mapping[str, Sequence[float]]  # by model: a score for each layer


def score_by_layer(
    scores: LayerScores, metric: str, aggregate: str, chosen: Reading | None, most_height: int = 0
) -> go.Figure:
    """The score by layer, a line for each pooling; pairs of layers are at the side."""
    table = scores.table(metric, aggregate)
    at, layers, of_cells = heights_of(scores.rows), scores.last + 1, notes(scores)
    draft = style.Draft()
    for column, pooling in enumerate(scores.poolings):
        for part, mode in ((slice(0, layers), "lines+markers"), (slice(layers, None), "markers")):
            draft.curve(
                style.pooling_colour(pooling),
                x=at[part],
                y=table[part, column],
                mode=mode,
                name=pooling,
                legendgroup=pooling,
                showlegend=part.start == 0,
                marker={"symbol": style.pooling_symbol(pooling), "size": 9, "color": style.pooling_colour(pooling)},
                text=[of_cells[row][column] for row in range(len(scores.rows))][part],
                hovertemplate="%{text}<extra></extra>",
            )
    cell = None if chosen is None else scores.place(chosen)
    # outside of the grid
    _add_level(draft, "model default", scores.own_score(metric, aggregate), style.QUIET)
    if chosen is not None and chosen != OWN and cell is None:
        _add_level(draft, chosen.title, scores.score(chosen, metric, aggregate), style.ACCENT)
    if cell is not None:
        draft.points(
            x=[at[cell[0]]],
            y=[table[cell]],
            marker={"symbol": "circle-open", "size": 20, "color": style.ACCENT, "line": {"width": 3}},
            name="chosen",
            hoverinfo="skip",
        )
    if np.isnan(table).all():
        draft.note("no correlation", x=0.5, y=0.5, xref="paper", yref="paper")
    draft.x_axes(tickvals=at, ticktext=[row.label for row in scores.rows], title="layer", zeroline=False)
    draft.y_axes(title=f"{metric} × 100", zeroline=False)
    height = 70 + CELL_HEIGHT * len(scores.rows)
    return draft.figure(min(most_height or height, height))


def _add_level(draft: style.Draft, title: str, score: float | None, colour: str) -> None:
    if score is not None and not np.isnan(score):
        draft.level(score, f"{title} {in_words.number(score)}", colour=colour)


def compared_by_layer(
    comparison: Comparison, pooling: str, metric: str, aggregate: str, grid: Interval | None
) -> go.Figure:
    """The score of both by layer under one pooling, and the interval of the difference below."""
    draft = style.Draft(rows=1 if grid is None else 2, shared=True, down=0.12)
    layers = comparison.one.last + 1
    for name, scores, colour in (("A", comparison.one, style.SIDES[0]), ("B", comparison.other, style.SIDES[1])):
        draft.curve(
            colour,
            x=list(range(scores.last + 1)),
            y=scores.table(metric, aggregate)[: scores.last + 1, scores.poolings.index(pooling)],
            name=name,
            hovertemplate=f"{name}, layer %{{x}}: %{{y:.2f}}<extra></extra>",
            row=1,
        )
    if grid is not None:
        column = comparison.one.poolings.index(pooling)
        of_pooling = grid.at((slice(layers), column))
        shown = shown_cells(comparison, metric, aggregate)[:layers, column]
        _add_differences(draft, of_pooling, shown, 2, hover="layer %{x}: %{customdata}<extra></extra>")
        draft.x_axes(title="layer", zeroline=False, row=2)
    return draft.figure(460, legend={"y": 1.04})


def scores_by_layer(tasks: Mapping[str, Lines]) -> go.Figure:
    """For every task the score by layer, a line for each model; a layer without a score is a gap."""
    across = min(ACROSS, len(tasks))
    down = math.ceil(len(tasks) / across)
    draft = style.Draft(
        rows=down,
        cols=across,
        titles=[style.short_text(task) for task in tasks],
        down=min(0.2, 0.36 / down),
        across=0.07,
    )
    models: list[str] = []
    for place, lines in enumerate(tasks.values()):
        for model, scores in lines.items():
            is_first = model not in models  # this line stands for the model in the legend
            models += [model] * is_first
            at = models.index(model)
            draft.curve(
                style.MODEL_COLOURS[at % len(style.MODEL_COLOURS)],
                width=2,
                x=list(range(len(scores))),
                y=list(scores),
                name=style.short_text(model),
                legendgroup=model,
                showlegend=is_first,
                marker={"size": 6, "symbol": style.MODEL_SYMBOLS[at % len(style.MODEL_SYMBOLS)]},
                hovertemplate=f"{style.short_text(model)}, layer %{{x}}: %{{y:.2f}}<extra></extra>",
                row=place // across + 1,
                col=place % across + 1,
            )
    draft.x_axes(zeroline=False)
    draft.y_axes(zeroline=False)
    # a long legend on a narrow screen takes height from the figures, and must not cover the numbers of their axes
    return draft.figure(80 + HEIGHT * down, legend={"y": -0.2 / down, "yanchor": "top"})


def measure_by_layer(geometry: LayerGeometry, measure: Measure) -> go.Figure:
    """One measure by layer, for every side."""
    draft = style.Draft()
    for name, layers, colour in zip("AB", geometry.layers, style.SIDES, strict=False):
        draft.curve(
            colour,
            size=7,
            x=list(range(len(layers))),
            y=[measure.of(each) for each in layers],
            name=name,
            hovertemplate=f"{name}, layer %{{x}}: %{{y:.3f}}<extra></extra>",
        )
    draft.x_axes(title="layer", zeroline=False, **_whole(geometry))
    draft.y_axes(zeroline=False)
    return draft.figure(240)


def alignment_by_uniformity(geometry: LayerGeometry) -> go.Figure:
    """Layers by uniformity and alignment, with an arrow from A to B at the chosen layer & pooling."""
    draft = style.Draft()
    for name, layers, reading, chosen, colour in zip(
        "AB", geometry.layers, geometry.readings, geometry.chosen, style.SIDES, strict=False
    ):
        draft.curve(
            colour,
            width=1.5,
            x=[each.uniformity for each in layers],
            y=[each.alignment for each in layers],
            mode="lines+markers+text",
            name=name,
            text=[str(layer) for layer in range(len(layers))],
            textposition="top center" if name == "A" else "bottom center",
            hovertemplate=f"{name}, {geometry.pooling} of layer %{{text}}<br>uniformity %{{x:.3f}}<br>"
            "alignment %{y:.3f}<extra></extra>",
        )
        draft.points(
            x=[chosen.uniformity],
            y=[chosen.alignment],
            name=f"{name}: {reading.title}",
            marker={"symbol": "circle-open", "size": 15, "color": colour, "line": {"width": 3}},
            hovertemplate=f"{name}, {reading.title}<br>uniformity %{{x:.3f}}<br>alignment %{{y:.3f}}<extra></extra>",
        )
    ends = [(one.uniformity, one.alignment) for one in geometry.chosen]
    if len(ends) == 2 and np.isfinite(ends).all() and ends[0] != ends[1]:
        (from_x, from_y), (x, y) = ends
        arrow = {"showarrow": True, "arrowhead": 2, "arrowsize": 1.2, "arrowwidth": 2.5, "arrowcolor": style.ACCENT}
        draft.note("", x=x, y=y, ax=from_x, ay=from_y, axref="x", ayref="y", standoff=9, startstandoff=9, **arrow)
    draft.x_axes(title="uniformity (lower is better)", zeroline=False)
    draft.y_axes(title="alignment (lower is better)", zeroline=False)
    return draft.figure(460)


def drift_by_layer(geometry: LayerGeometry, differences: Interval | None) -> go.Figure:
    """CKA, shift and score difference of each layer, in three rows."""
    panels = [("CKA", geometry.alike)] + [("shift", geometry.shift)] * geometry.same_width
    rows = len(panels) + (differences is not None)
    layers = list(range(len(geometry.alike)))
    draft = style.Draft(rows=rows, shared=True, down=0.07)
    for row, (name, values) in enumerate(panels, start=1):
        hover = f"layer %{{x}}: {name} %{{y:.3f}}<extra></extra>"
        draft.curve(style.ACCENT, x=layers, y=values, hovertemplate=hover, row=row)
        draft.y_axes(title=name, zeroline=False, row=row)
    if differences is not None:
        hover = "layer %{x}: B − A %{customdata}<extra></extra>"
        _add_differences(draft, differences, differences.difference, rows, hover)
    draft.x_axes(zeroline=False, **_whole(geometry))
    draft.x_axes(title="layer", row=rows)
    return draft.figure(60 + 150 * rows, showlegend=False)


def _add_differences(draft: style.Draft, differences: Interval, shown: Floats, row: int, hover: str) -> None:
    """The differences (layer) with their intervals; `shown` are those that are written on hover."""
    middle, low, high = differences.difference, differences.low, differences.high
    draft.points(
        x=list(range(len(middle))),
        y=middle,
        customdata=[in_words.signed(gap) for gap in shown.tolist()],
        marker={"size": 9, "color": [style.certainty(*ends) for ends in zip(low.tolist(), high.tolist(), strict=True)]},
        error_y=style.error_bars(middle, low, high, color=style.QUIET),
        hovertemplate=hover,
        showlegend=False,
        row=row,
    )
    draft.line(y=0, color=style.QUIET, width=1.5, row=row)
    draft.y_axes(title="B − A", zeroline=False, row=row)


def _whole(geometry: LayerGeometry) -> dict[str, Any]:
    most = max(map(len, geometry.layers))
    return {"tick0": 0, "dtick": 1 if most <= 13 else 2 if most <= 25 else 4}


def by_share(shares: Sequence[float], lines: Lines, at: float, title: str) -> go.Figure:
    """A line for each name over the share α of the tuned model; one share is marked."""
    draft = style.Draft()
    draft.line(x=at, color=style.ACCENT, dash="dash", width=1.5)
    for place, (name, values) in enumerate(lines.items()):
        draft.curve(
            style.MODEL_COLOURS[place % len(style.MODEL_COLOURS)],
            width=2,
            x=list(shares),
            y=list(values),
            name=style.short_text(name, 40),
            marker={"size": 7, "symbol": style.MODEL_SYMBOLS[place % len(style.MODEL_SYMBOLS)]},
            hovertemplate=f"{style.short_text(name, 40)}, α = %{{x:g}}: %{{y:.2f}}<extra></extra>",
        )
    draft.x_axes(title="α", zeroline=False, dtick=0.25, range=[-0.03, 1.03])
    draft.y_axes(title=title, zeroline=False)
    return draft.figure(340, showlegend=True, legend={"y": -0.22, "yanchor": "top"})
