"""Draw the hard negatives of a training: how near each is to its anchor, compared with the positive of its row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from explorer.drawing import style

HEIGHT = 330
MOST_TEXTS = 2000  # negatives whose texts are shown under the mouse: those of more would take long to send
CLOSER, FARTHER = "perhaps right: closer than the positive", "farther than the positive"
AT_RANDOM = "drawn at random"
COLOURS = {True: style.MODEL_COLOURS[1], False: style.QUIET}

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


def mined_negatives(
    positives: Floats, cosines: Floats, closer: Flags, at_random: Flags, triplets: Sequence[Sequence[str]]
) -> go.Figure:
    """The cosine of each negative to its anchor against that of the positive, coloured by what the guide says.

    All are given for each negative, of few with the triplet that it is of.
    """
    draft = style.Draft()
    lowest = min(style.COSINE_RANGE[0], float(cosines.min()), float(positives.min()))
    ends = [lowest - 0.02, 1.02]
    even = {"color": style.QUIET, "dash": "dot", "width": 1}
    draft.path(x=ends, y=ends, line=even, hoverinfo="skip", showlegend=False)
    draft.note("as near as the positive", x=0.4, y=0.4, xanchor="right", yanchor="bottom")  # where no points are
    for is_closer, is_drawn in ((False, False), (False, True), (True, False), (True, True)):  # the last is on top
        (places,) = np.nonzero((closer == is_closer) & (at_random == is_drawn))
        if len(places):
            draft.add(
                "scattergl",
                mode="markers",
                x=positives[places].astype(np.float32),
                y=cosines[places].astype(np.float32),
                name=", ".join([CLOSER if is_closer else FARTHER, *[AT_RANDOM] * is_drawn]),
                marker={
                    "color": COLOURS[is_closer],
                    "size": 9 if is_closer else 6,
                    "opacity": 0.9 if is_closer else 0.55,
                    "symbol": "x-thin-open" if is_drawn else "circle",
                },
                showlegend=True,
                **_hover([triplets[place] for place in places.tolist()] if triplets else []),
            )
    draft.x_axes(title="cosine of the positive to its anchor", range=ends, zeroline=False)
    draft.y_axes(title="cosine of the negative", range=ends, zeroline=False)
    return draft.figure(HEIGHT, margin={"l": 8, "t": 40})


def _hover(triplets: Sequence[Sequence[str]]) -> dict[str, Any]:
    """What the mouse shows of each point: its texts, if they are given, and both cosines."""
    numbers = "negative %{y:.2f}, positive %{x:.2f}<extra></extra>"
    if not triplets:
        return {"hovertemplate": numbers}
    texts = ["<br>".join(map(style.hover_text, triplet)) for triplet in triplets]
    return {"text": texts, "hovertemplate": f"%{{text}}<br>{numbers}"}
