"""Curves of a run: dev score, loss, and similarities, step by step.

The input is the lines of metrics.jsonl, thinned and with a smoothed loss.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import plotly.graph_objects as go

from explorer.drawing.style import ACCENT, QUIET
from explorer.metric_lines import Evaluation, MetricLine, TrainingStep

Lines = Sequence[MetricLine]

# after Okabe and Ito, ordered for contrast; more than five seeds differ by dashes
SEED_COLOURS = ("#0094D6", "#D55E00", "#009E73", "#CC79A7", "#8C6BB1")
DASHES = ("solid", "dash", "dot", "dashdot")
HEIGHT = 330


def dev_scores(
    lines: Lines, base: float | None, total: int = 0, at: int | None = None, same_reading: float | None = None
) -> go.Figure:
    """The dev score of every evaluation step, with a line and a star at the best checkpoint for each seed.

    A dashed line is the base under its model default, a dotted one the base under the layer & pooling that is trained.
    A star below the dashed line is labelled. The step `at` is a vertical line.
    """
    figure = go.Figure()
    best: list[Evaluation] = []
    for number, seed, own in _by_seed(lines):
        evaluations = [line for line in own if isinstance(line, Evaluation)]
        figure.add_scatter(
            x=[one.step for one in evaluations],
            y=[one.dev for one in evaluations],  # None without a correlation: a gap, never 0
            mode="lines+markers",
            name=f"seed {seed}" if _several(lines) else "tuned",
            line=_line(number),
            marker={"size": 6},
            hovertemplate=f"seed {seed}, step %{{x}}: %{{y:.2f}}<extra></extra>",
        )
        best += [one for one in evaluations if one.best][-1:]
    below = [base is not None and one.dev is not None and one.dev < base for one in best]
    for is_below, name, symbol in (
        (False, "best checkpoint", "star"),
        (True, "best checkpoint, below the base", "star-open"),
    ):
        shown = [one for one, lower in zip(best, below, strict=True) if lower is is_below]
        if shown:
            figure.add_scatter(
                x=[one.step for one in shown],
                y=[one.dev for one in shown],
                mode="markers",
                name=name,
                marker={"symbol": symbol, "size": 15, "color": ACCENT, "line": {"width": 1, "color": "#000000"}},
                hovertemplate=f"{name}, step %{{x}}: %{{y:.2f}}<extra></extra>",
            )
    _held_out(figure, lines)
    if base is not None:
        _base_line(figure, base, "base, model default", "dash")
    if same_reading is not None and (base is None or abs(same_reading - base) >= 0.01):
        _base_line(figure, same_reading, "base, trained layer & pooling", "dot")
    if at is not None:
        figure.add_vline(x=at, line={"color": ACCENT, "width": 2})
    _steps(figure, lines, total)
    figure.update_yaxes(title="Spearman × 100", zeroline=False)
    return _laid_out(
        figure,
        bool(best)
        or _several(lines)
        or any(isinstance(line, Evaluation) and line.held_out is not None for line in lines),
    )


def losses(lines: Lines, total: int = 0) -> go.Figure:
    """The loss of every step (faint) and smoothed."""
    figure = go.Figure()
    for number, seed, own in _by_seed(lines):
        steps = [line for line in own if isinstance(line, TrainingStep) and line.smooth is not None]
        places = [line.step for line in steps]
        figure.add_scatter(
            x=places,
            y=[line.loss for line in steps],
            mode="lines",
            name=f"seed {seed}, not smoothed",
            legendgroup=str(number),
            showlegend=False,
            opacity=0.35,
            line={"color": _line(number)["color"], "width": 1},
            hovertemplate=f"seed {seed}, step %{{x}}: %{{y:.3g}}<extra></extra>",
        )
        figure.add_scatter(
            x=places,
            y=[line.smooth for line in steps],
            mode="lines",
            name=f"seed {seed}",
            legendgroup=str(number),
            line=_line(number),
            hovertemplate=f"seed {seed}, step %{{x}}: %{{y:.3g}} smoothed<extra></extra>",
        )
    _steps(figure, lines, total)
    figure.update_yaxes(title="loss", zeroline=False)
    return _laid_out(figure, _several(lines))


def geometry(lines: Lines, total: int = 0) -> go.Figure:
    """Similarity of positive and random pairs in a batch, and alignment and uniformity at evaluations, in 3 rows."""
    from plotly.subplots import make_subplots

    titles = (
        "cosines in a batch: positive pairs, random pairs dotted",
        "alignment of positive pairs (lower is better)",
        "uniformity of all sentences (lower is better)",
    )
    figure = make_subplots(rows=3, shared_xaxes=True, subplot_titles=titles, vertical_spacing=0.09)
    for number, seed, own in _by_seed(lines):
        for row, name, dash, told in (
            (1, "positive", "solid", "positive pairs"),
            (1, "negative", "dot", "random pairs"),
            (2, "alignment", None, "alignment"),
            (3, "uniformity", None, "uniformity"),
        ):
            known = [(line.step, value) for line in own if (value := getattr(line, name, None)) is not None]
            figure.add_scatter(
                row=row,
                col=1,
                x=[step for step, _ in known],
                y=[value for _, value in known],
                mode="lines" if row == 1 else "lines+markers",
                name=f"seed {seed}" if _several(lines) else told,
                showlegend=name == "positive" or (name == "negative" and not _several(lines)),
                line={**_line(number), **({"dash": dash} if dash else {})},
                marker={"size": 6},
                hovertemplate=f"seed {seed}, step %{{x}}: {told} %{{y:.3f}}<extra></extra>",
            )
    _steps(figure, lines, total)
    figure.update_xaxes(title="", row=1)
    figure.update_xaxes(title="", row=2)
    figure.update_yaxes(zeroline=False)
    _laid_out(figure, True, height=640)
    return figure.update_layout(margin={"t": 70}, legend={"y": 1.06})


def _by_seed(lines: Lines) -> Iterator[tuple[int, int, list[MetricLine]]]:
    """(index of the seed from 0, the seed, its lines)."""
    seeds: dict[int, list[MetricLine]] = {}
    for line in lines:
        seeds.setdefault(line.number, []).append(line)
    for number, own in sorted(seeds.items()):
        yield number - 1, own[0].seed, own


def _several(lines: Lines) -> bool:
    return len({line.number for line in lines}) > 1


def _line(number: int) -> dict[str, Any]:
    """The style of a seed's line, the same in every figure."""
    rounds, place = divmod(number, len(SEED_COLOURS))
    return {"color": SEED_COLOURS[place], "width": 2.5, "dash": DASHES[rounds % len(DASHES)]}


def _steps(figure: go.Figure, lines: Lines, total: int) -> None:
    """The axis of steps, up to the planned end of the run."""
    done = max((line.step for line in lines), default=0)
    end = max(1, done, min(total, 2 * done))
    figure.update_xaxes(title="step", zeroline=False, range=[-0.02 * end, 1.02 * end])


def _held_out(figure: go.Figure, lines: Lines) -> None:
    """The score of held-out rows, if it chooses the best checkpoint: a faint line for each seed."""
    for number, seed, own in _by_seed(lines):
        known = [line for line in own if isinstance(line, Evaluation) and line.held_out is not None]
        if known:
            figure.add_scatter(
                x=[one.step for one in known],
                y=[one.held_out for one in known],
                mode="lines",
                name=f"seed {seed}, held-out rows, score × 100" if _several(lines) else "held-out rows, score × 100",
                opacity=0.6,
                line={**_line(number), "width": 1.5, "dash": "dashdot"},
                hovertemplate=f"seed {seed}, step %{{x}}: %{{y:.1f}} on held-out rows<extra></extra>",
            )


def _base_line(figure: go.Figure, score: float, name: str, dash: str) -> None:
    figure.add_hline(y=score, line={"color": QUIET, "dash": dash, "width": 1.5})
    figure.add_annotation(
        x=1, xref="paper", xanchor="right", y=score, yanchor="bottom", showarrow=False, text=f"{name} {score:.1f}"
    )


def _laid_out(figure: go.Figure, legend: bool, height: int = HEIGHT) -> go.Figure:
    return figure.update_layout(
        height=height,
        showlegend=legend,
        hovermode="closest",
        margin={"l": 0, "r": 8, "t": 30, "b": 40},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        uirevision="kept",  # keeps zoom and hidden lines when the figure is redrawn
    )
