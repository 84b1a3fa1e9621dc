"""Models by their score, with intervals, and which of them do not differ, on these tasks and on tasks like these."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from explorer import in_words
from explorer.drawing import style
from explorer.evaluating.results.rank_groups import Ranking

MOST = 14  # models, the best first
GROUPS, GAP = 0.16, 0.05  # shares of the width: of the groups of a claim, and of the gap before them
TEXT = 14  # pixels
NAME, LINE = 18, 10  # characters in a line of a name, and of a title of groups: the screen may be narrow
IN_LINES = 7  # models whose names have room for two lines


def ranked(ranking: Ranking, measure: str, height: int) -> go.Figure:
    """Scores with their 95 % intervals, the best on top, and for each claim a bar through the models of each group.

    Models that share a bar do not differ significantly. The best is green if it is better than every other on these
    tasks.
    """
    draft = style.Draft(1, 1 + len(ranking.claims))
    names = list(ranking.names[:MOST])
    for at in range(len(names)):
        score, low, high = (float(numbers[at]) for numbers in (ranking.scores, ranking.low, ranking.high))
        colour = style.GAIN if ranking.on_these.best_is_clear and at == 0 else style.QUIET
        draft.points(
            x=[score],
            y=[at],
            mode="markers+text",
            text=[in_words.number(score)],
            textposition="top center",
            textfont={"size": TEXT},
            marker={"size": 13, "color": colour},
            error_x=style.error_bars([score], [low], [high], color=colour, thickness=4, width=0),
            hovertemplate=f"{style.hover_text(names[at])}<br>{in_words.number(score)} "
            f"({in_words.interval(low, high)})<extra></extra>",
            showlegend=False,
            cliponaxis=False,  # the number of the best is at the edge
        )
    scores = 1 - len(ranking.claims) * (GAP + GROUPS)
    _axes(draft, names, measure, scores)
    for place, (about, groups) in enumerate(ranking.claims.items()):
        left = scores + GAP + place * (GROUPS + GAP)
        _add_groups(draft, place + 2, about, groups.letters[:MOST], left)
    return draft.figure(height, margin={"l": 8, "t": 10, "b": 78})


def _add_groups(draft: style.Draft, col: int, about: str, letters_of: Sequence[str], left: float) -> None:
    """A bar through the models of each group, by the letters of each model, in a panel from `left` on."""
    letters = sorted({one for letter in letters_of for one in letter})
    for column, letter in enumerate(letters):
        rows = [at for at, of_model in enumerate(letters_of) if letter in of_model]
        draft.curve(
            style.ACCENT,
            col=col,
            width=8,
            x=[column] * len(rows),
            y=rows,
            marker={"size": 12, "color": style.ACCENT},
            hovertemplate=f"group {letter}: no significant difference on {about}<extra></extra>",
            showlegend=False,
        )
    draft.x_axes(
        col=col,
        domain=[left, left + GROUPS],
        title=f"groups:<br>{style.hover_text(about, LINE)}",  # short lines, so that titles fit on a narrow screen
        tickvals=list(range(len(letters))),
        ticktext=letters,
        range=[-0.6, max(2.0, len(letters) - 0.4)],
        **style.STILL,
    )
    draft.y_axes(col=col, showticklabels=False, range=[len(letters_of) - 0.5, -0.8], **style.STILL)


def unranked(scores: Sequence[tuple[str, float]], measure: str, height: int) -> go.Figure:
    """The scores of models of which no difference can be judged, the best on top."""
    draft = style.Draft(1, 2)
    shown = sorted(scores, key=lambda one: -one[1])[:MOST]
    draft.points(
        x=[score for _, score in shown],
        y=list(range(len(shown))),
        mode="markers+text",
        text=[in_words.number(score) for _, score in shown],
        textposition="top center",
        textfont={"size": TEXT},
        marker={"size": 13, "color": style.QUIET},
        hoverinfo="skip",
        showlegend=False,
    )
    _axes(draft, [name for name, _ in shown], measure, 1 - GAP - GROUPS)
    draft.x_axes(col=2, visible=False, domain=[0.99, 1])
    draft.y_axes(col=2, visible=False)
    return draft.figure(height, margin={"l": 8, "t": 10, "b": 42})


def _axes(draft: style.Draft, names: Sequence[str], measure: str, right: float) -> None:
    """The axes of the scores, up to this share of the width."""
    draft.x_axes(col=1, domain=[0, right], title=f"{measure} × 100", zeroline=False)
    draft.y_axes(
        col=1,
        tickvals=list(range(len(names))),
        ticktext=[
            style.hover_text(name, NAME, most=34) if len(names) <= IN_LINES else style.short_text(name, 34)
            for name in names
        ],
        tickfont={"size": TEXT},
        range=[len(names) - 0.5, -0.8],
        **style.STILL,
    )
