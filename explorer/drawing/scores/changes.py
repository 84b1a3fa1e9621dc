"""What changed from one model to another: the share of each probe pack and the score of each set, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from explorer import in_words
from explorer.drawing import style
from explorer.measuring.comparing.verdict_sentence import gap_with_ci
from explorer.measuring.scores.judge import PackChange
from explorer.measuring.scores.verdict import BETTER, CI, WORSE, Verdict

OF_KIND = {BETTER: style.GAIN, WORSE: style.LOSS}
TEXT, MARK = 14, 12  # pixels: of a text, of the line at 0 on each side of a difference
LONGEST = 46  # characters of a set's name, for which 320 pixels are enough
ROOM = {"l": 8, "t": 26, "b": 40, "r": 16}
LEAST = 8.0  # points: the axis of differences is never narrower on a side


@dataclass(frozen=True)
class SetChange:
    """The change of the score of a set, by its name."""

    name: str
    verdict: Verdict


def packs_changed(packs: Sequence[PackChange], height: int, sides: tuple[int, int] = (0, 1)) -> go.Figure:
    """The packs from before to after, in % of cases with a line at a coin's 50 %.

    A change that is certain is green or brown-red, one that could be chance is grey. `sides` are the places of the
    models before and after among A and B.
    """
    packs = sorted(packs, key=lambda one: -abs(one.difference))
    draft = style.Draft()
    for at, one in enumerate(packs):
        _pack(draft, one, at, sides)
    draft.line(x=50, color=style.QUIET, width=1.5, dash="dot")
    draft.note("a coin", x=51, y=0, yref="paper", yanchor="bottom", xanchor="left")
    draft.x_axes(title="cases that are right, %", range=[-3, 112], zeroline=False)
    draft.y_axes(
        tickvals=list(range(len(packs))),
        ticktext=[one.name for one in packs],
        tickfont={"size": TEXT},
        range=[len(packs) - 0.4, -0.75],
        **style.STILL,
    )
    return draft.figure(height, margin=ROOM, legend={"y": 1.0})


def sets_changed(sets: Sequence[SetChange], height: int) -> go.Figure:
    """The change of the score of each set with its interval, in the colours of `packs_changed`."""
    known = [one for one in sets if one.verdict.difference is not None]
    ends = [0.0, *(end for one in known for end in (one.verdict.low, one.verdict.high, one.verdict.difference) if end)]
    low, high = min(-LEAST, *ends), max(LEAST, *ends)
    draft = style.Draft()
    for at, one in enumerate(known):
        _set(draft, one, at)
    draft.x_axes(title="difference, score × 100", range=[1.1 * low, 1.1 * high], zeroline=False)
    draft.y_axes(showticklabels=False, range=[len(known) - 0.4, -0.75], **style.STILL)
    return draft.figure(height, margin=ROOM)


def colour_of(pack: PackChange) -> str:
    """The colour of the change of a pack."""
    return style.GAIN if pack.rose else style.LOSS if pack.high < 0 or pack.fell else style.CHANCE


def _pack(draft: style.Draft, pack: PackChange, at: int, sides: tuple[int, int]) -> None:
    draft.path(
        x=[100 * pack.before.value, 100 * pack.after.value],
        y=[at, at],
        line={"color": colour_of(pack), "width": 5},
        hoverinfo="skip",
        showlegend=False,
    )
    change = f"{in_words.signed(pack.points, pack.digits)} points ({CI} {pack.ends})"
    right = 100 * max(pack.before.high, pack.after.high)
    draft.note(pack.shares, x=min(right + 1.5, 101), y=at, xanchor="left", font={"size": TEXT})
    for share, side in ((pack.before, sides[0]), (pack.after, sides[1])):
        middle, low, high = (100 * number for number in (share.value, share.low, share.high))
        shown = f"{pack.name}, {'AB'[side]}: {in_words.percent(share.value, pack.digits)}"
        draft.points(
            x=[middle],
            y=[at],
            name="AB"[side],
            legendgroup="AB"[side],
            showlegend=at == 0,
            marker={"size": 13, "color": style.SIDES[side]},
            error_x=style.error_bars([middle], [low], [high], color=style.SIDES[side], thickness=1.5, width=4),
            hovertemplate=f"{shown}<br>{change}<extra></extra>",
        )


def _set(draft: style.Draft, change: SetChange, at: int) -> None:
    """The difference over a mark of 0, which is short: a line across the figure would cross the text."""
    verdict, colour = change.verdict, OF_KIND.get(change.verdict.kind, style.CHANCE)
    gap = verdict.difference or 0.0
    bars = {} if not verdict.known else style.error_bars([gap], *([end] for end in verdict.known[3:]))
    zero = {"x0": 0, "x1": 0, "ysizemode": "pixel", "yanchor": at, "y0": -MARK, "y1": MARK}
    draft.shape(type="line", layer="below", line={"color": style.QUIET, "width": 1.5}, **zero)
    draft.points(
        x=[gap],
        y=[at],
        showlegend=False,
        marker={"size": 13, "color": colour},
        error_x=bars | {"color": colour, "thickness": 5, "width": 0} if bars else None,
        hovertemplate=f"{style.hover_text(change.name)}<br>{gap_with_ci(verdict)}<extra></extra>",
    )
    scores = in_words.arrow(verdict.before, verdict.after)
    draft.note(
        f"{style.short_text(change.name, LONGEST)}<br>{scores}, {verdict.gap_alone}",
        align="left",
        font={"size": TEXT - 1},
        xref="x domain",
        x=0,
        xanchor="left",
        y=at,
        yanchor="bottom",
        yshift=MARK,
    )
