"""Scores as tables, CSV, JSON and text."""

from __future__ import annotations

import csv
import io
import json
import math
from typing import TYPE_CHECKING

from explorer import in_words
from explorer.data.kinds import GradedPairs
from explorer.data.tables.formula_guard import guarded
from explorer.encoding.read.readings import GRID_POOLINGS, Reading
from explorer.measuring.scores.layer_scores import AGGREGATES, METRICS, LayerScores
from explorer.measuring.table_cells import rounded

if TYPE_CHECKING:
    from explorer.encoding.locate.model_names import Found


def score_rows(scores: LayerScores) -> list[dict[str, object]]:
    """A row for every layer & pooling, with every metric × 100; None without a correlation."""
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
            numbers = {name: rounded(table[place, column]) for name, (table, _) in tables.items()}
            rows.append({"reading": Reading(row, pooling).title, "layer": row.label, "pooling": pooling, **numbers})
    if scores.own is not None:
        numbers = {name: rounded(own) for name, (_, own) in tables.items()}
        rows.append({"reading": "own", "layer": "", "pooling": scores.own_title, **numbers})
    return rows


def as_csv(rows: list[dict[str, object]]) -> str:
    """Rows as CSV with a header; a missing number is an empty cell, and no text is a formula."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(guarded, rows[0]))
    writer.writerows([guarded(row.get(name, "")) for name in rows[0]] for row in rows)
    return text.getvalue()


def as_json(found: Found, pairs: GradedPairs, scores: LayerScores) -> str:
    """Every layer & pooling as JSON, with model, set and settings."""
    content = {
        "model": found.name,
        "model_revision": found.revision,
        "model_digest": found.digest,
        "set": pairs.name,
        "set_digest": pairs.digest,
        "pairs": len(pairs),
        "precision": scores.precision,
        "device": scores.device,
        "max_length": scores.max_length,
        "sentences": scores.sentences,
        "truncated": scores.truncated,
        "seconds": round(scores.seconds, 3),
        "not_measurable": [reading.title for reading in scores.not_measured],
        "readings": score_rows(scores),
    }
    return json.dumps(content, indent=1, ensure_ascii=False)


def as_text(found: Found, pairs: GradedPairs, scores: LayerScores, metric: str, aggregate: str) -> str:
    """One metric as a grid for the terminal, with notes."""
    way = f", {aggregate}" if scores.has_parts else ""
    lines = [f"{found.name} on {pairs.name}: {metric} × 100 on {len(pairs):,} pairs{way} (higher is better)", ""]
    lines.append(f"{'layer':>8}" + "".join(f"{pooling:>8}" for pooling in GRID_POOLINGS))
    for row, numbers in zip(scores.rows, scores.table(metric, aggregate), strict=True):
        cells = "".join(f"{number:8.2f}" if math.isfinite(number) else " " * 8 for number in numbers)
        lines.append(f"{row.label:>8}{cells}".rstrip())
    lines.append("")
    own, best = scores.own_score(metric, aggregate), scores.best(metric, aggregate)
    if own is not None:
        lines.append(f"model default: {in_words.number(own)} ({scores.own_title})")
    if best is not None:
        value = scores.score(best, metric, aggregate)
        lines.append(f"best here: {value:.2f} ({best.title}), chosen on the pairs it is scored on, so optimistic")
    if scores.told_not_measured:
        lines.append(scores.told_not_measured)
    lines.append(
        f"{scores.precision} on {scores.device}, at most {scores.max_length} tokens, {scores.truncated:,} of "
        f"{scores.sentences:,} sentences truncated, measured in {scores.seconds:.1f} s"
    )
    return "\n".join(lines)
