"""Draw the cosines of the pairs that a run watches, step by step."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from explorer import in_words
from explorer.data.watched_pairs import WatchedPair
from explorer.drawing.scores.run_figures import DASHES, HEIGHT, KEPT, Lines, by_seed, step_axis, with_gaps
from explorer.drawing.style import Draft, hover_text
from explorer.measuring.sentences import edits
from explorer.run_folder import Evaluation

PAIR_COLOURS = ("#D55E00", "#0094D6", "#CC79A7")
LABEL = 30  # characters of a sentence in the legend
FEW = 2  # edits that the legend names


def watched_cosines(lines: Lines, pairs: Sequence[WatchedPair], total: int = 0, parts: Sequence[str] = ()) -> go.Figure:
    """The cosine of each watched pair at every evaluation step, with what differs in it and its last value."""
    draft = Draft()
    lowest = 0.0
    for place, pair in enumerate(pairs):
        colour = PAIR_COLOURS[place % len(PAIR_COLOURS)]
        sentences = "<br>".join(hover_text(text) for text in (pair.first, pair.second))
        for number, seed, own in by_seed(lines):
            known = [line for line in own if isinstance(line, Evaluation) and place < len(line.cosines)]
            points = with_gaps(known)
            values = [one and one.cosines[place] for one in points]
            draft.curve(
                colour,
                dash=DASHES[number % len(DASHES)],
                size=6,
                x=[one and one.step for one in points],
                y=values,
                name=hover_text(f"{pair.kind}: {_named(pair)}"),
                legendgroup=str(place),
                showlegend=number == 0,
                hovertemplate=f"{sentences}<br>seed {seed}, step %{{x}}: %{{y:.3f}}<extra></extra>",
            )
            if known:
                lowest = min(lowest, *(one.cosines[place] for one in known))
                last = known[-1]
                text = in_words.cosine(last.cosines[place])
                draft.note(text, x=last.step, y=last.cosines[place], xanchor="left", xshift=6)
    step_axis(draft, lines, total, parts, room=0.1)
    draft.y_axes(title="cosine", zeroline=False, range=[lowest - 0.03, 1.03])
    legend = {"orientation": "v", "y": 1.0, "yanchor": "bottom", "tracegroupgap": 0}
    return draft.figure(HEIGHT, showlegend=True, uirevision=KEPT, legend=legend, margin={"t": 24})


def _named(pair: WatchedPair) -> str:
    """What differs between two sentences that share most words, else both, shortened."""
    edited = edits.between(pair.first, pair.second)
    if edited and len(edited.edits) <= FEW and all(edit.kind != edits.REWORDED for edit in edited.edits):
        return ", ".join(map(str, edited.edits))
    return " / ".join(_short(text) for text in (pair.first, pair.second))


def _short(text: str) -> str:
    return text if len(text) <= LABEL else f"{text[: LABEL - 1]}…"
