"""Differences of two models in each group of a column, with intervals that hold together."""

from __future__ import annotations

import math

import plotly.graph_objects as go

from explorer import in_words
from explorer.drawing import style
from explorer.measuring.comparing.splits import GroupChange, SplitChanges

ROW = 26  # pixels of a group


def differences_by_group(changes: SplitChanges) -> go.Figure:
    """B − A of each group from top to bottom; significant ones are filled, a group without an interval has no bar."""
    draft = style.Draft()
    for sure, symbol, name in ((True, "circle", "significant"), (False, "circle-open", "could be chance")):
        some = [(at, one) for at, one in enumerate(changes.groups) if one.sure is sure]
        if not some:
            continue
        middle, low, high = ([getattr(one, end) for _, one in some] for end in ("difference", "low", "high"))
        colours = [style.certainty(*ends) for ends in zip(low, high, strict=True)]
        draft.points(
            x=middle,
            y=[at for at, _ in some],
            name=name,
            marker={"size": 9, "color": colours, "symbol": symbol, "line": {"width": 2}},
            error_x=style.error_bars(middle, low, high, color=style.QUIET),
            text=[_hover(changes, one) for _, one in some],
            hovertemplate="%{text}<extra></extra>",
        )
    alone = [(at, one) for at, one in enumerate(changes.groups) if one.sure is None and math.isfinite(one.difference)]
    if alone:
        draft.points(
            x=[one.difference for _, one in alone],
            y=[at for at, _ in alone],
            name="without an interval",
            marker={"size": 9, "color": style.QUIET, "symbol": "x-thin", "line": {"width": 2, "color": style.QUIET}},
            text=[_hover(changes, one) for _, one in alone],
            hovertemplate="%{text}<extra></extra>",
        )
    draft.line(x=0, color=style.QUIET, width=1.5)
    names = [f"{style.short_text(one.name)} ({one.items:,})" for one in changes.groups]
    draft.x_axes(title=f"B − A, {changes.metric} × 100", zeroline=False)
    draft.y_axes(tickvals=list(range(len(names))), ticktext=names, range=[len(names) - 0.5, -0.5], zeroline=False)
    return draft.figure(110 + ROW * len(names))


def _hover(changes: SplitChanges, group: GroupChange) -> str:
    """The name of a group, both scores and the difference, as the table shows them."""
    gap = in_words.signed(group.difference)
    if group.sure is not None:
        gap = in_words.change(group.difference, group.low, group.high, label=f"{100 * changes.level:.2f} % CI")
    name, scores = style.hover_text(group.name), in_words.arrow(group.one, group.other)
    return f"{name}<br>{scores}<br>{gap}"
