"""Table rows of a comparison: scores and differences of every layer & pooling, and pairs whose rank error changed."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from explorer.data.kinds import GradedPairs
from explorer.encoding.read.readings import OWN, Reading
from explorer.measuring.comparing.comparison import Comparison, Differences
from explorer.measuring.comparing.rank_errors import RankErrors
from explorer.measuring.scores.bootstrap import Interval
from explorer.measuring.scores.layer_scores import NO_SCORE
from explorer.measuring.table_cells import Rows, rounded

READING, SIGNIFICANT = "layer & pooling", "significant"  # columns: a cell, and whether its interval excludes 0


def cell_rows(comparison: Comparison, differences: Differences, metric: str, aggregate: str) -> Rows:
    """A row for every common cell, and for the model defaults if both declare one."""
    one, other = (scores.table(metric, aggregate) for scores in (comparison.one, comparison.other))
    rows: Rows = []
    if differences.grid is not None:
        rows += [
            {
                READING: Reading(row, pooling).title,
                "A": rounded(one[place, column]),
                "B": rounded(other[place, column]),
                **_told(differences.grid, (place, column)),
            }
            for place, row in enumerate(comparison.rows)
            for column, pooling in enumerate(comparison.one.poolings)
        ]
    if differences.own is not None:
        sides = (scores.score(OWN, metric, aggregate) for scores in (comparison.one, comparison.other))
        rows.append({READING: OWN.title, **dict(zip("AB", map(rounded, sides), strict=True))})
        rows[-1] |= _told(differences.own, ())
    return rows


def most_changed(rows: Rows, count: int = 3) -> tuple[Rows, Rows]:
    """The rows that gained most and those that lost most, largest change first."""
    known = [(row, number) for row in rows if isinstance(number := row["difference"], float)]
    gained = sorted((one for one in known if one[1] > 0), key=lambda one: -one[1])
    lost = sorted((one for one in known if one[1] < 0), key=lambda one: one[1])
    return [row for row, _ in gained[:count]], [row for row, _ in lost[:count]]


def chosen_row(comparison: Comparison, chosen: Interval, metric: str, aggregate: str) -> dict[str, object]:
    """The row of the chosen layer & pooling of each side."""
    return {
        f"{READING} A": comparison.one_reading.title,
        f"{READING} B": comparison.other_reading.title,
        "A": rounded(comparison.one.score(comparison.one_reading, metric, aggregate)),
        "B": rounded(comparison.other.score(comparison.other_reading, metric, aggregate)),
        **_told(chosen, ()),
    }


def told_difference(interval: Interval) -> str:
    """`+3.25 (2.41 to 4.10)`; `n/a` if missing."""
    if not math.isfinite(float(interval.difference)):
        return NO_SCORE
    return f"{float(interval.difference):+.2f} ({float(interval.low):+.2f} to {float(interval.high):+.2f})"


def _told(interval: Interval, at: tuple[int, ...]) -> dict[str, object]:
    difference = rounded(interval.difference[at])
    return {
        "difference": difference,
        "low": rounded(interval.low[at]),
        "high": rounded(interval.high[at]),
        SIGNIFICANT: None if difference is None else bool(interval.sure[at]),
    }


def pair_rows(pairs: GradedPairs, comparison: Comparison, errors: RankErrors, places: NDArray[np.intp]) -> Rows:
    """A row for each pair: both sentences, the gold score, and the cosines and rank errors of A and B."""
    one, other = (
        comparison.one.cosines_of(comparison.one_reading),
        comparison.other.cosines_of(comparison.other_reading),
    )
    return [
        {
            "first": pairs.first[place],
            "second": pairs.second[place],
            "gold score": pairs.gold[place],
            "cosine A": round(float(one[place]), 4),
            "cosine B": round(float(other[place]), 4),
            "rank error A": round(float(errors.one[place]), 4),
            "rank error B": round(float(errors.other[place]), 4),
            **({"sub-corpus": pairs.parts[place]} if comparison.one.has_parts else {}),
            **({"tag": pairs.tags[place]} if pairs.tags else {}),
        }
        for place in places
    ]
