"""What changed from one model to another: the share of each probe pack and the score of each set, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from explorer import in_words
from explorer.drawing import style
from explorer.measuring.scores.judge import PackChange
from explorer.measuring.scores.verdict import BETTER, CI, WORSE, Verdict

OF_KIND = {BETTER: style.GAIN, WORSE: style.LOSS}
PACKS_END, SETS_START = 0.55, 0.64  # shares of the width: the packs before, the sets after
TEXT = 14  # pixels
LEAST = 8.0  # points: the axis of differences is never narrower on a side


@dataclass(frozen=True)
class SetChange:
    """The change of the score of a set, by its name."""

    name: str
    verdict: Verdict


def what_changed(
    packs: Sequence[PackChange], sets: Sequence[SetChange], height: int, sides: tuple[int, int] = (0, 1)
) -> go.Figure:
    """The packs from before to after, in % of cases with a line at a coin's 50 %, and the sets as differences.

    A change that is certain is green or brown-red, one that could be chance is grey. `sides` are the places of the
    models before and after among A and B.
    """
    packs = sorted(packs, key=lambda one: -abs(one.difference))
    draft = style.Draft(1, 2)
    _packs(draft, packs, sides)
    _sets(draft, sets, SETS_START if packs else 0.02)
    if not packs:
        draft.x_axes(col=1, visible=False, domain=[0, 0.01])
        draft.y_axes(col=1, visible=False)
        return draft.figure(height, margin={"l": 8, "t": 26, "b": 40, "r": 16})
    end = PACKS_END if sets else 1.0
    draft.x_axes(col=1, domain=[0, end], title="cases that are right, %", range=[-3, 112], zeroline=False)
    draft.y_axes(
        col=1,
        tickvals=list(range(len(packs))),
        ticktext=[one.name for one in packs],
        tickfont={"size": TEXT},
        range=[len(packs) - 0.4, -0.75],
        **style.STILL,
    )
    return draft.figure(height, margin={"l": 8, "t": 26, "b": 40, "r": 16}, legend={"y": 1.0})


def colour_of(pack: PackChange) -> str:
    """The colour of the change of a pack."""
    return style.GAIN if pack.rose else style.LOSS if pack.high < 0 or pack.fell else style.CHANCE


def _packs(draft: style.Draft, packs: Sequence[PackChange], sides: tuple[int, int]) -> None:
    if not packs:
        return
    for at, one in enumerate(packs):
        draft.add(
            "scatter",
            x=[100 * one.before.value, 100 * one.after.value],
            y=[at, at],
            mode="lines",
            line={"color": colour_of(one), "width": 5},
            hoverinfo="skip",
            showlegend=False,
        )
        change = in_words.change(one.points, 100 * one.low, 100 * one.high, digits=0, label=CI)
        shares = f"{in_words.arrow(100 * one.before.value, 100 * one.after.value, digits=0)} %"
        right = 100 * max(one.before.high, one.after.high)
        draft.note(shares, x=min(right + 1.5, 101), y=at, xanchor="left", font={"size": TEXT})
        for share, side in ((one.before, sides[0]), (one.after, sides[1])):
            middle, low, high = (100 * number for number in (share.value, share.low, share.high))
            draft.add(
                "scatter",
                x=[middle],
                y=[at],
                mode="markers",
                name="AB"[side],
                legendgroup="AB"[side],
                showlegend=at == 0,
                marker={"size": 13, "color": style.SIDES[side]},
                error_x=style.error_bars([middle], [low], [high], color=style.SIDES[side], thickness=1.5, width=4),
                hovertemplate=f"{one.name}, {'AB'[side]}: {share}<br>{change} points<extra></extra>",
            )
    draft.line(x=50, color=style.QUIET, width=1.5, dash="dot")
    draft.note("a coin", x=51, y=0, yref="paper", yanchor="bottom", xanchor="left")


def _sets(draft: style.Draft, sets: Sequence[SetChange], start: float) -> None:
    known = [one for one in sets if one.verdict.difference is not None]
    ends = [0.0, *(end for one in known for end in (one.verdict.low, one.verdict.high, one.verdict.difference) if end)]
    low, high = min(-LEAST, *ends), max(LEAST, *ends)
    for at, one in enumerate(known):
        verdict, colour = one.verdict, OF_KIND.get(one.verdict.kind, style.CHANCE)
        gap = verdict.difference or 0.0
        bars = {} if not verdict.known else style.error_bars([gap], *([end] for end in verdict.known[3:]))
        draft.add(
            "scatter",
            col=2,
            x=[gap],
            y=[at],
            mode="markers",
            showlegend=False,
            marker={"size": 13, "color": colour},
            error_x=bars | {"color": colour, "thickness": 5, "width": 0} if bars else None,
            hovertemplate=f"{style.hover_text(one.name)}<br>{verdict.gap_with_ci}<extra></extra>",
        )
        scores = in_words.arrow(verdict.declared_base, verdict.exported)
        where = {
            "xref": "x2 domain",
            "x": 0,
            "xanchor": "left",
            "y": at,
            "yref": "y2",
            "yanchor": "bottom",
            "yshift": 10,
        }
        text = (
            f"{style.short_text(one.name, round(46 * (1 - start) / (1 - SETS_START)))}<br>{scores}, {verdict.gap_alone}"
        )
        draft.note(text, align="left", font={"size": TEXT - 1}, **where)
    if known:
        draft.line(x=0, col=2, color=style.QUIET, width=1.5)
    title = "difference, score × 100" if known else ""
    draft.x_axes(col=2, domain=[start, 1], title=title, range=[1.1 * low, 1.1 * high], zeroline=False)
    draft.y_axes(col=2, showticklabels=False, range=[len(known) - 0.4, -0.75], **style.STILL)
    if not known:
        draft.x_axes(col=2, visible=False)
        draft.y_axes(col=2, visible=False)
