"""Choose a layer & pooling on half of the queries of a retrieval set, and compare it with the default on the others.

The best of all layers & poolings on some queries has a score on these that is too high, since it was chosen for it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from explorer.encoding.read.readings import MODEL_DEFAULT
from explorer.evaluating.measured import QueryChoice, QueryIntervals
from explorer.measuring.scores.bootstrap import mean_difference

LEAST = 10  # queries of an interval: that of a few that are all alike would have no width


def intervals(
    titles: Sequence[str], scores: NDArray[np.float64], queries: Sequence[str], every: bool
) -> QueryIntervals | None:
    """The interval of the model default, and the choice if `every` layer & pooling was scored; None of a few queries.

    `scores` (layer & pooling, query) are from 0 to 1; intervals are those of a bootstrap over queries.
    """
    default = scores[titles.index(MODEL_DEFAULT)]
    if len(queries) < LEAST or not np.isfinite(default).all():
        return None
    own = mean_difference(np.zeros_like(default), default)
    found = QueryIntervals(round(float(own.low), 4), round(float(own.high), 4))
    first = half(queries)
    if not every or min(first.sum(), (~first).sum()) < LEAST:
        return found
    on_half = scores[:, first].mean(axis=1)
    best = int(np.nanargmax(on_half))  # the model default has scores
    chosen = scores[best]
    gap = mean_difference(default[~first], chosen[~first])
    choice = QueryChoice(
        titles[best],
        round(100 * float(chosen[~first].mean()), 4),
        round(100 * float(default[~first].mean()), 4),
        *(round(float(value), 4) for value in (gap.difference, gap.low, gap.high)),
    )
    return replace(found, choice=choice)


def told(found: QueryIntervals) -> str:
    """Interval and choice of a result in a sentence or two."""
    own = f"model default: 95 % CI {found.low:.2f} to {found.high:.2f}."
    if found.choice is None:
        return own
    one = found.choice
    return (
        f"{own} Chosen on half of the queries: {one.title}. On the other half it has {one.score:.2f}, the model "
        f"default {one.default_score:.2f}: difference {one.difference:+.2f} "
        f"(95 % CI {one.low:+.2f} to {one.high:+.2f})."
    )


def half(queries: Sequence[str]) -> NDArray[np.bool_]:
    """About half of the queries, drawn by their text alone."""
    drawn = [hashlib.sha256(query.encode("utf-8", "surrogatepass")).digest() for query in queries]
    first = np.zeros(len(queries), dtype=bool)
    first[sorted(range(len(queries)), key=drawn.__getitem__)[: len(queries) // 2]] = True
    return first
