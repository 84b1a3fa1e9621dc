"""Choose a layer & pooling on half of the queries of a retrieval set, and compare it with the default on the others.

The best of all layers & poolings on some queries has a score on these that is too high, since it was chosen for it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from explorer.encoding.read.readings import MODEL_DEFAULT
from explorer.evaluating.measured import Setting
from explorer.measuring.scores.bootstrap import mean_difference

LEAST = 10  # queries of an interval: that of a few that are all alike would have no width

# the entries of a result's setting; scores × 100
INTERVAL = "model default, 95 % CI"
CHOSEN = "layer & pooling chosen on half of the queries"
ITS_SCORE, DEFAULT_SCORE = "its score on the other half", "model default on the other half"
DIFFERENCE, DIFFERENCE_INTERVAL = "difference", "difference, 95 % CI"


def intervals(
    titles: Sequence[str], scores: NDArray[np.float64], queries: Sequence[str], every: bool
) -> dict[str, Setting]:
    """The interval of the model default, and the choice if `every` layer & pooling was scored; {} of a few queries.

    `scores` (layer & pooling, query) are from 0 to 1; intervals are those of a bootstrap over queries.
    """
    if len(queries) < LEAST:
        return {}
    default = scores[titles.index(MODEL_DEFAULT)]
    own = mean_difference(np.zeros_like(default), default)
    found: dict[str, Setting] = {INTERVAL: f"{float(own.low):.2f} to {float(own.high):.2f}"}
    first = half(queries)
    if not every or min(first.sum(), (~first).sum()) < LEAST:
        return found
    on_half = scores[:, first].mean(axis=1)
    if np.isnan(on_half).all():
        return found
    chosen = scores[int(np.nanargmax(on_half))]
    gap = mean_difference(default[~first], chosen[~first])
    return found | {
        CHOSEN: titles[int(np.nanargmax(on_half))],
        ITS_SCORE: round(100 * float(chosen[~first].mean()), 4),
        DEFAULT_SCORE: round(100 * float(default[~first].mean()), 4),
        DIFFERENCE: round(float(gap.difference), 4),
        DIFFERENCE_INTERVAL: f"{float(gap.low):+.2f} to {float(gap.high):+.2f}",
    }


def told(setting: Mapping[str, Setting]) -> str:
    """Interval and choice of a result in a sentence or two; "" if it has none."""
    if INTERVAL not in setting:
        return ""
    own = f"model default: 95 % CI {setting[INTERVAL]}."
    if CHOSEN not in setting:
        return own
    return (
        f"{own} Chosen on half of the queries: {setting[CHOSEN]}. On the other half it has "
        f"{setting[ITS_SCORE]:.2f}, the model default {setting[DEFAULT_SCORE]:.2f}: difference "
        f"{setting[DIFFERENCE]:+.2f} (95 % CI {setting[DIFFERENCE_INTERVAL]})."
    )


def half(queries: Sequence[str]) -> NDArray[np.bool_]:
    """About half of the queries, drawn by their text alone."""
    drawn = [hashlib.sha256(query.encode("utf-8", "surrogatepass")).digest() for query in queries]
    first = np.zeros(len(queries), dtype=bool)
    first[sorted(range(len(queries)), key=drawn.__getitem__)[: len(queries) // 2]] = True
    return first
