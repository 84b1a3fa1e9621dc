"""What are the scores as a table: a row for every reading, a column for every number?"""

from __future__ import annotations

import csv
import io
import math

from explorer.encoding.readings import GRID_POOLINGS, Reading
from explorer.measuring.scores import AGGREGATES, METRICS, LayerScores


def score_rows(scores: LayerScores) -> list[dict[str, object]]:
    """Every reading with every metric × 100; None where there is no correlation."""
    ways = AGGREGATES if scores.has_parts else AGGREGATES[:1]
    tables = {
        metric.lower() if way == "all" else f"{metric.lower()} {way}": (
            scores.table(metric, way),
            scores.own_score(metric, way),
        )
        for metric in METRICS
        for way in ways
    }
    rows: list[dict[str, object]] = []
    for place, row in enumerate(scores.rows):
        for column, pooling in enumerate(GRID_POOLINGS):
            numbers = {name: _number(table[place, column]) for name, (table, _) in tables.items()}
            rows.append({"reading": Reading(row, pooling).title, "layer": row.label, "pooling": pooling, **numbers})
    if scores.own is not None:
        numbers = {name: _number(own) for name, (_, own) in tables.items()}
        rows.append({"reading": "own", "layer": "", "pooling": scores.own_title, **numbers})
    return rows


def as_csv(rows: list[dict[str, object]]) -> str:
    """Rows as CSV with a header; a missing number is an empty cell."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _number(score: float | None) -> float | None:
    """Missing is missing: an empty cell, never 0."""
    return None if score is None or math.isnan(score) else round(float(score), 4)
