"""Figures of a run: curves of dev score, loss and similarities; geometry and score of one step among all.

The input of the curves is the lines of metrics.jsonl, thinned and with a smoothed loss.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import plotly.graph_objects as go

from explorer import in_words
from explorer.drawing.style import ACCENT, MODEL_COLOURS, QUIET, Draft
from explorer.measuring.scores.bootstrap import Interval
from explorer.measuring.scores.verdict import CI
from explorer.run_folder import Evaluation, MetricLine, TrainingStep

Lines = Sequence[MetricLine]
Line = TypeVar("Line", bound=MetricLine)

# after Okabe and Ito, ordered for contrast; more than five seeds differ by dashes
SEED_COLOURS = MODEL_COLOURS[:5]
DASHES = ("solid", "dash", "dot", "dashdot")
HEIGHT = 320
KEPT = "kept"  # one revision, so that zoom and hidden lines stay when the figure is redrawn
STEP_HEIGHT = 430
OTHER_SCORES = (  # that may choose the best checkpoint: field, dash, name in the legend and on hover
    ("held_out", "dashdot", "dash-dotted: score of held-out rows, which are not trained on", "on held-out rows"),
    ("every_layer", "dot", "dotted: mean of the dev scores after every layer", "on average after every layer"),
)
STEP_MARGIN = {"t": 12}
_SHADE = "rgba(140, 107, 177, 0.2)"  # the colour of the line, faint
_MARKED: dict[str, Any] = {  # not a star, which marks the best step in the score figure
    "marker": {"symbol": "circle", "size": 14, "color": ACCENT, "line": {"width": 1, "color": "#000000"}},
    "hoverinfo": "skip",
    "name": "this step",
}


def dev_scores(
    lines: Lines,
    base: float | None,
    total: int = 0,
    at: int | None = None,
    same_reading: float | None = None,
    measure: str = "Spearman",
    parts: Sequence[str] = (),
) -> go.Figure:
    """The dev score of every evaluation step, with a line and a star at the best checkpoint for each seed.

    A dashed line is the base under its model default, a dotted one the base under the layer & pooling that is trained.
    A star below the dashed line is labelled, and each stage has one. The step `at` is a vertical line.
    `parts` name what is trained one after the other, if not stages.
    """
    draft = Draft()
    best: list[Evaluation] = []
    for number, seed, own in by_seed(lines):
        evaluations = [line for line in own if isinstance(line, Evaluation)]
        points = with_gaps(evaluations)
        draft.curve(
            **_seed_style(number),
            size=6,
            x=[one and one.step for one in points],
            y=[one and one.dev for one in points],  # None without a correlation: a gap, never 0
            name=f"seed {seed}" if _several(lines) else "tuned",
            hovertemplate=f"seed {seed}, step %{{x}}: %{{y:.2f}}<extra></extra>",
        )
        best += {one.stage: one for one in evaluations if one.best}.values()
    _add_stars(draft, best, base)
    others = [_add_other_score(draft, lines, *one) for one in OTHER_SCORES]
    _add_base(draft, base, same_reading)
    if at is not None:
        draft.line(x=at, color=ACCENT, width=2)
    step_axis(draft, lines, total, parts)
    draft.y_axes(title=f"{measure} × 100", zeroline=False, range=None if lines else [0, 100])
    return draft.figure(HEIGHT, showlegend=bool(best) or _several(lines) or any(others), uirevision=KEPT)


def _add_stars(draft: Draft, best: Sequence[Evaluation], base: float | None) -> None:
    """A star at each best checkpoint, a hollow one below the base."""
    lower = [one for one in best if base is not None and one.dev is not None and one.dev < base]
    by = _chosen_by(best)
    for shown, name, symbol in (
        ([one for one in best if one not in lower], f"best checkpoint{by}", "star"),
        (lower, f"best checkpoint{by}, below the base", "star-open"),
    ):
        if shown:
            draft.points(
                x=[one.step for one in shown],
                y=[one.dev for one in shown],
                name=name,
                marker={"symbol": symbol, "size": 15, "color": ACCENT, "line": {"width": 1, "color": "#000000"}},
                hovertemplate=f"{name}, step %{{x}}: %{{y:.2f}}<extra></extra>",
            )


def _add_base(draft: Draft, base: float | None, same_reading: float | None) -> None:
    """A line at each score of the base, but one that would cover the other."""
    if same_reading is not None and base is not None and abs(same_reading - base) < 0.01:
        same_reading = None
    for score, name, dash in (
        (base, "base, model default", "dash"),
        (same_reading, "base, trained layer & pooling", "dot"),
    ):
        if score is not None:
            draft.level(score, f"{name} {in_words.number(score, 1)}", dash=dash, right=True)


def losses(lines: Lines, total: int = 0, parts: Sequence[str] = ()) -> go.Figure:
    """The loss of every step (faint) and smoothed."""
    draft = Draft()
    for number, seed, own in by_seed(lines):
        steps = [line for line in own if isinstance(line, TrainingStep) and line.smooth is not None]
        shown = with_gaps(steps)
        common: dict[str, Any] = {"x": [one and one.step for one in shown], "legendgroup": str(number)}
        draft.path(
            **common,
            y=[one and one.loss for one in shown],
            name=f"seed {seed}, not smoothed",
            showlegend=False,
            opacity=0.35,
            line={"color": _line(number)["color"], "width": 1},
            hovertemplate=f"seed {seed}, step %{{x}}: %{{y:.3g}}<extra></extra>",
        )
        draft.path(
            **common,
            y=[one and one.smooth for one in shown],
            name=f"seed {seed}",
            line=_line(number),
            hovertemplate=f"seed {seed}, step %{{x}}: %{{y:.3g}} smoothed<extra></extra>",
        )
    step_axis(draft, lines, total, parts)
    draft.y_axes(title="loss", zeroline=False)
    return draft.figure(HEIGHT, showlegend=_several(lines), uirevision=KEPT)


def geometry(lines: Lines, total: int = 0, parts: Sequence[str] = ()) -> go.Figure:
    """Similarity of positive and random pairs in a batch, and alignment and uniformity at evaluations, in 3 rows."""
    titles = (
        "cosines in a batch: positive pairs, random pairs dotted",
        "alignment of positive pairs (lower is better)",
        "uniformity of all sentences (lower is better)",
    )
    draft = Draft(rows=3, shared=True, titles=titles, down=0.09)
    for number, seed, own in by_seed(lines):
        for row, name, dash, label in (
            (1, "positive", "solid", "positive pairs"),
            (1, "negative", "dot", "random pairs"),
            (2, "alignment", None, "alignment"),
            (3, "uniformity", None, "uniformity"),
        ):
            known = with_gaps([line for line in own if getattr(line, name, None) is not None])
            draft.curve(
                **{**_seed_style(number), **({"dash": dash} if dash else {})},
                size=6,
                row=row,
                x=[one and one.step for one in known],
                y=[one and getattr(one, name) for one in known],
                mode="lines" if row == 1 else "lines+markers",
                name=f"seed {seed}" if _several(lines) else label,
                showlegend=name == "positive" or (name == "negative" and not _several(lines)),
                hovertemplate=f"seed {seed}, step %{{x}}: {label} %{{y:.3f}}<extra></extra>",
            )
    step_axis(draft, lines, total, parts, rows=3)
    draft.x_axes(title="", row=1)
    draft.x_axes(title="", row=2)
    draft.y_axes(zeroline=False)
    return draft.figure(640, margin={"t": 70}, showlegend=True, legend={"y": 1.06}, uirevision=KEPT)


def by_seed(lines: Lines) -> Iterator[tuple[int, int, list[MetricLine]]]:
    """(index of the seed from 0, the seed, its lines)."""
    seeds: dict[int, list[MetricLine]] = {}
    for line in lines:
        seeds.setdefault(line.number, []).append(line)
    for number, own in sorted(seeds.items()):
        yield number - 1, own[0].seed, own


def _several(lines: Lines) -> bool:
    return len({line.number for line in lines}) > 1


def _seed_style(number: int) -> dict[str, Any]:
    """The colour and dashes of a seed's line, the same in every figure."""
    rounds, place = divmod(number, len(SEED_COLOURS))
    return {"colour": SEED_COLOURS[place], "dash": DASHES[rounds % len(DASHES)]}


def _line(number: int) -> dict[str, Any]:
    seed_style = _seed_style(number)
    return {"color": seed_style["colour"], "width": 2.5, "dash": seed_style["dash"]}


def with_gaps(lines: Sequence[Line]) -> list[Line | None]:
    """Lines of a seed, with None between stages: a stage starts from the best checkpoint, not the end, of the last."""
    found: list[Line | None] = []
    for line in lines:
        if found and found[-1] is not None and found[-1].stage != line.stage:
            found.append(None)
        found.append(line)
    return found


def step_axis(draft: Draft, lines: Lines, total: int, parts: Sequence[str], rows: int = 1, room: float = 0.02) -> None:
    """The axis of steps, up to the planned end of the run, with a line where each stage, or part, begins.

    `room` is left at its end, as a share.
    """
    ends: dict[tuple[int, int], int] = {}  # by stage and seed, since a stage may stop early
    for line in lines:
        if line.stage is not None:
            key = line.stage, line.number
            ends[key] = max(ends.get(key, line.step), line.step)
    named = set()
    for (stage, number), step in sorted(ends.items()):
        if (stage + 1, number) not in ends:
            continue
        for row in range(1, rows + 1):
            draft.line(x=step + 0.5, row=row, color=QUIET, dash="dot", width=1)
        if stage not in named:
            named.add(stage)
            draft.note(
                parts[stage] if parts else f"stage {stage + 1}",
                x=step + 0.5,
                y=0,
                yref="paper",
                xanchor="left",
                yanchor="bottom",
            )
    done = max((line.step for line in lines), default=0)
    end = max(1, done, min(total, 2 * done) if done else total)
    whole = {"dtick": 1} if end < 5 else {}  # no part of a step
    draft.x_axes(title="step", zeroline=False, range=[-0.02 * end, (1 + room) * end], **whole)


def _chosen_by(best: Sequence[Evaluation]) -> str:
    """What the best checkpoints were chosen by, for the legend; "" if it is the dev score, which is drawn."""
    known = [one for one in best if one.criterion is not None]
    if not known:
        return ""
    if all(one.held_out is None for one in known):
        return ": highest mean of dev scores after every layer"
    alone = all(math.isclose(one.criterion or 0, one.held_out or 0) for one in known)
    return f": highest {'score of held-out rows' if alone else 'mean of dev score and held-out rows'}"


def _add_other_score(draft: Draft, lines: Lines, field: str, dash: str, label: str, on: str) -> bool:
    """Another score that chooses the best checkpoint: a faint line for each seed; whether there is any."""
    drawn = False
    for number, seed, own in by_seed(lines):
        known = with_gaps([line for line in own if isinstance(line, Evaluation) and getattr(line, field) is not None])
        if known:
            drawn = True
            draft.path(
                x=[one and one.step for one in known],
                y=[one and getattr(one, field) for one in known],
                name=f"seed {seed}, {label}" if _several(lines) else label,
                opacity=0.6,
                line={**_line(number), "width": 1.5, "dash": dash},
                hovertemplate=f"seed {seed}, step %{{x}}: %{{y:.1f}} {on}<extra></extra>",
            )
    return drawn


def alignment_and_uniformity(evaluations: Sequence[Evaluation], at: int) -> go.Figure:
    """The path of a run: alignment (lower is better) by uniformity (lower is better)."""
    known = [one for one in evaluations if one.alignment is not None and one.uniformity is not None]
    draft = Draft()
    draft.curve(
        MODEL_COLOURS[0],
        width=2,
        size=7,
        x=[one.uniformity for one in known],
        y=[one.alignment for one in known],
        customdata=[one.step for one in known],
        hovertemplate="step %{customdata}: uniformity %{x:.3f}, alignment %{y:.3f}<extra></extra>",
        name="evaluations",
    )
    for one in known:
        if one.step == evaluations[at].step:
            draft.points(x=[one.uniformity], y=[one.alignment], **_MARKED)
    for one in known[:1]:
        draft.note("before", x=one.uniformity, y=one.alignment, showarrow=True, ax=24, ay=-18)
    draft.x_axes(title="uniformity (lower is better)", zeroline=False)
    draft.y_axes(title="alignment (lower is better)", zeroline=False)
    return draft.figure(STEP_HEIGHT, showlegend=False, margin=STEP_MARGIN)


def score_by_step(
    steps: Sequence[int], scores: Sequence[float], since: Sequence[Interval], at: int, metric: str, height: int
) -> go.Figure:
    """The score of one layer & pooling at every saved step; this step is marked.

    `since` is the change since the first step: the band is its confidence interval.
    """
    draft = Draft()
    for side, fill in (("high", None), ("low", "tonexty")):
        draft.path(
            x=list(steps),
            y=_known([scores[0] + float(getattr(one, side)) for one in since]),
            line={"width": 0},
            fill=fill,
            fillcolor=_SHADE,
            hoverinfo="skip",
            name="interval",
        )
    draft.curve(
        MODEL_COLOURS[0],
        width=2,
        size=7,
        x=list(steps),
        y=_known(scores),
        customdata=[_since_text(steps[0], (scores[0], score), one) for score, one in zip(scores, since, strict=True)],
        hovertemplate="step %{x}: %{y:.2f}<br>%{customdata}<extra></extra>",
        name="steps",
    )
    if math.isnan(scores[at]):
        draft.note("no correlation at this step", x=0.5, y=0.5, xref="paper", yref="paper")
    else:
        draft.points(x=[steps[at]], y=[scores[at]], **_MARKED)
    draft.x_axes(title="step", zeroline=False)
    draft.y_axes(title=f"{metric} × 100", zeroline=False)
    # the same top margin as the grids
    return draft.figure(height, showlegend=False)


def _known(scores: Sequence[float]) -> list[float | None]:
    """Missing values are gaps, never 0."""
    return [None if math.isnan(score) else score for score in scores]


def _since_text(first: int, scores: tuple[float, float], change: Interval) -> str:
    if math.isnan(float(change.difference)):
        return "no correlation on one side"
    gap = in_words.gap(*scores)
    ends = in_words.ends(gap, float(change.low), float(change.high))
    return f"{in_words.signed(gap)} since step {first}<br>{CI}: {ends}"
