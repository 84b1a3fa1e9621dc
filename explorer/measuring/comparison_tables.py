"""What is a comparison as a table: a row for every reading, both scores, the difference and its interval?"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

from explorer.data.kinds import GradedPairs
from explorer.encoding.readings import GRID_POOLINGS, Reading
from explorer.measuring.bootstrap import LEVEL, RESAMPLES, Interval
from explorer.measuring.comparing import Comparison

if TYPE_CHECKING:
    from explorer.encoding.finding import Found

Rows = list[dict[str, object]]


def cell_rows(comparison: Comparison, grid: Interval, metric: str, aggregate: str) -> Rows:
    """Every cell that both encoders have."""
    one, other = (scores.table(metric, aggregate) for scores in (comparison.one, comparison.other))
    return [
        {"reading": Reading(row, pooling).title, "A": _number(one[at]), "B": _number(other[at]), **_told(grid, at)}
        for place, row in enumerate(comparison.rows)
        for column, pooling in enumerate(GRID_POOLINGS)
        for at in [(place, column)]
    ]


def chosen_row(comparison: Comparison, chosen: Interval, metric: str, aggregate: str) -> dict[str, object]:
    """The two readings that stand for a sentence."""
    return {
        "reading A": comparison.one_reading.title,
        "reading B": comparison.other_reading.title,
        "A": _number(comparison.one.score(comparison.one_reading, metric, aggregate)),
        "B": _number(comparison.other.score(comparison.other_reading, metric, aggregate)),
        **_told(chosen, ()),
    }


def as_json(
    found: tuple[Found, Found],
    pairs: GradedPairs,
    comparison: Comparison,
    chosen: Interval,
    grid: Interval | None,
    metric: str,
    aggregate: str,
    seed: int,
) -> str:
    """All of it, with what was compared, on what, and how."""
    content = {
        **{
            side: {"model": one.name, "model_revision": one.revision, "model_digest": one.digest}
            for side, one in zip("AB", found, strict=True)
        },
        "set": pairs.name,
        "set_digest": pairs.digest,
        "pairs": len(pairs),
        "metric": metric,
        "aggregate": aggregate,
        "resamples": RESAMPLES,
        "level": LEVEL,
        "seed": seed,
        "chosen": chosen_row(comparison, chosen, metric, aggregate),
        "cells": [] if grid is None else cell_rows(comparison, grid, metric, aggregate),
    }
    return json.dumps(content, indent=1, ensure_ascii=False)


def as_text(
    found: tuple[Found, Found],
    pairs: GradedPairs,
    comparison: Comparison,
    chosen: Interval,
    grid: Interval | None,
    metric: str,
    aggregate: str,
) -> str:
    """The differences as a grid for the terminal, those beyond the draw of pairs marked."""
    one, other = found
    row = chosen_row(comparison, chosen, metric, aggregate)
    lines = [
        f"{pairs.name}: {metric} × 100 of {len(pairs):,} pairs" + (f", {aggregate}" * comparison.one.has_parts),
        f"A  {_score(row['A'])}  {row['reading A']} of {one.name}",
        f"B  {_score(row['B'])}  {row['reading B']} of {other.name}",
        f"B - A  {told_difference(chosen)}",
        "",
    ]
    if grid is None:
        lines.append(f"A has {comparison.one.last} layers and B {comparison.other.last}: their cells are not the same.")
        return "\n".join(lines)
    lines.append(f"{'B - A':>8}" + "".join(f"{pooling:>9}" for pooling in GRID_POOLINGS))
    for place, layers in enumerate(comparison.rows):
        cells = "".join(
            f"{grid.difference[place, column]:+8.2f}{'*' if grid.sure[place, column] else ' '}"
            if math.isfinite(grid.difference[place, column])
            else " " * 9
            for column in range(len(GRID_POOLINGS))
        )
        lines.append(f"{layers.label:>8}{cells}".rstrip())
    lines += ["", f"* beyond what the draw of pairs can bring about ({LEVEL:.0%} of {RESAMPLES:,} resamples)"]
    return "\n".join(lines)


def told_difference(interval: Interval) -> str:
    """`+3.25 (2.41 to 4.10)`; a missing one is missing."""
    if not math.isfinite(float(interval.difference)):
        return "none"
    return f"{float(interval.difference):+.2f} ({float(interval.low):+.2f} to {float(interval.high):+.2f})"


def _told(interval: Interval, at: tuple[int, ...]) -> dict[str, object]:
    return {
        "difference": _number(interval.difference[at]),
        "low": _number(interval.low[at]),
        "high": _number(interval.high[at]),
        "sure": bool(interval.sure[at]),
    }


def _score(score: object) -> str:
    return f"{score:.2f}" if isinstance(score, float) else "none"


def _number(score: float) -> float | None:
    """Missing is missing: an empty cell, never 0."""
    return round(float(score), 4) if math.isfinite(score) else None
