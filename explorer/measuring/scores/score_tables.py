"""Scores as tables, CSV, JSON and text."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from explorer import in_words
from explorer.data.text_sets import GradedPairs
from explorer.encoding.read.pooling import OWN, Reading
from explorer.escaping import csv_text
from explorer.in_words import rounded
from explorer.measuring.scores.layer_scores import LayerScores
from explorer.measuring.scores.metrics import AGGREGATES

if TYPE_CHECKING:
    from explorer.encoding.locate.model_names import Found

# the names of columns on pages, where values have another one
_TITLES = {
    "reading": "layer & pooling",
    "reading A": "layer & pooling A",
    "reading B": "layer & pooling B",
    "sure": "significant",
}


def score_rows(scores: LayerScores) -> list[dict[str, object]]:
    """A row for every layer & pooling, with every metric × 100; None without a correlation."""
    aggregates = AGGREGATES if scores.has_parts else AGGREGATES[:1]
    measures = {
        metric.lower() if way == "all" else f"{metric.lower()} {way}": (metric, way)
        for metric in scores.metrics
        for way in aggregates
    }

    def numbers(reading: Reading) -> dict[str, object]:
        return {name: rounded(scores.score(reading, *way)) for name, way in measures.items()}

    rows: list[dict[str, object]] = [
        {"reading": one.title, "layer": one.row.label, "pooling": one.pooling, **numbers(one)}
        for one in (*scores.grid, *scores.also)
    ]
    if scores.own is not None:
        rows.append({"reading": OWN.title, "layer": "", "pooling": scores.own_title, **numbers(OWN)})
    return rows


def for_people(rows: Sequence[Mapping[str, object]]) -> list[dict[str, object]]:
    """Rows as tables on pages and in files show them: columns by their names on pages, and yes or no in words."""
    return [{_TITLES.get(name, name): _in_words(value) for name, value in row.items()} for row in rows]


def _in_words(value: object) -> object:
    return ("yes" if value else "no") if isinstance(value, bool) else value


def as_csv(rows: Sequence[Mapping[str, object]]) -> str:
    """Rows as CSV with a header; a missing number is an empty cell, and no text is a formula."""
    shown = for_people(rows)
    return csv_text([[*shown[0]], *([row.get(name, "") for name in shown[0]] for row in shown)])


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
        "not_finite": [reading.title for reading in scores.not_finite],
        "readings": score_rows(scores),
    }
    return json.dumps(content, indent=1, ensure_ascii=False)


def as_text(
    found: Found,
    pairs: GradedPairs,
    scores: LayerScores,
    metric: str,
    aggregate: str,
    asked: Sequence[Reading] = (),
) -> str:
    """One metric as a grid for the terminal, with notes, and the layers & poolings that were asked for by name."""
    way = f", {aggregate}" if scores.has_parts else ""
    lines = [f"{found.name} on {pairs.name}: {metric} × 100 on {len(pairs):,} pairs{way} (higher is better)", ""]
    lines.append(f"{'layer':>8}" + "".join(f"{pooling:>8}" for pooling in scores.poolings))
    for row, numbers in zip(scores.rows, scores.table(metric, aggregate), strict=True):
        cells = "".join(f"{number:8.2f}" if math.isfinite(number) else " " * 8 for number in numbers)
        lines.append(f"{row.label:>8}{cells}".rstrip())
    lines.append("")
    own, best = scores.own_score(metric, aggregate), scores.best(metric, aggregate)
    if own is not None:
        lines.append(f"model default: {in_words.number(own)} ({scores.own_title})")
    lines += [f"{one.title}: {in_words.number(scores.score(one, metric, aggregate))}" for one in asked]
    if best is not None:
        value = scores.score(best, metric, aggregate)
        lines.append(f"best here: {value:.2f} ({best.title}), chosen on the pairs it is scored on, so optimistic")
    if scores.not_measured_text:
        lines.append(scores.not_measured_text)
    lines.append(
        f"{scores.precision} on {scores.device}, at most {scores.max_length} tokens, {scores.truncated:,} of "
        f"{scores.sentences:,} sentences truncated, measured in {scores.seconds:.1f} s"
    )
    return "\n".join(lines)
