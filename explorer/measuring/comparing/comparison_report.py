"""All results of a comparison, as JSON and as text."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from explorer import in_words
from explorer.data.kinds import GradedPairs
from explorer.measuring.comparing import learned_text
from explorer.measuring.comparing.comparison import Comparison, Differences
from explorer.measuring.comparing.comparison_tables import READING, cell_rows, chosen_row, told_difference
from explorer.measuring.comparing.comparison_verdict import ComparisonVerdict, judge
from explorer.measuring.comparing.cosines_by_grade import median_rows
from explorer.measuring.comparing.dev_picking import DevPick
from explorer.measuring.comparing.learned import NOTHING, Learned, ProbeChanges
from explorer.measuring.geometry.geometry_tables import drift_rows, geometry_rows
from explorer.measuring.geometry.layer_geometry import LayerGeometry
from explorer.measuring.scores.bootstrap import LEVEL, RESAMPLES, Interval
from explorer.measuring.scores.layer_scores import NO_SCORE, LayerScores
from explorer.measuring.scores.verdict_text import CI
from explorer.measuring.table_cells import Rows

if TYPE_CHECKING:
    from explorer.encoding.locate.model_names import Found

LIBRARIES = ("torch", "transformers", "tokenizers", "numpy")


@dataclass(frozen=True, eq=False)
class Findings:
    """A comparison, whole."""

    found: tuple[Found, Found]
    pairs: GradedPairs
    comparison: Comparison
    differences: Differences
    metric: str
    aggregate: str
    seed: int
    geometry: LayerGeometry | None = None
    picked: DevPick | None = None  # the layer & pooling of each that is best on a dev set, if chosen so
    of_models: ComparisonVerdict | None = None  # the verdict on the model defaults, if they are not the chosen ones
    probes: ProbeChanges = NOTHING

    @property
    def verdict(self) -> ComparisonVerdict:
        """The verdict: better or worse, by how much, and whether it could be chance."""
        ways = self.metric, self.aggregate
        return self.of_models or judge(self.found, self.pairs, self.comparison, self.differences.chosen, ways)

    @property
    def learned(self) -> Learned:
        """What the judged model learned, by the score and the probe packs."""
        return self.verdict.learned(self.probes)

    @property
    def where(self) -> str:
        """In which layers & poolings the score changed, in words."""
        backwards = self.verdict.tuning is not None and self.verdict.tuning.tuned == 0
        return learned_text.where(self.cells(), self.comparison.why_no_cells, backwards=backwards)

    @property
    def picked_here(self) -> DevPick | None:
        """How the compared layer & pooling of each was picked; None if it was not."""
        compared = self.comparison.one_reading, self.comparison.other_reading
        return self.picked if self.picked and self.picked.readings == compared else None

    @property
    def scores(self) -> tuple[LayerScores, LayerScores]:
        """Of A and of B."""
        return self.comparison.one, self.comparison.other

    def chosen(self) -> dict[str, object]:
        """Both scores under the chosen layer & pooling, the difference and its interval."""
        return chosen_row(self.comparison, self.differences.chosen, self.metric, self.aggregate)

    def cells(self) -> Rows:
        """The same for every common layer & pooling."""
        return cell_rows(self.comparison, self.differences, self.metric, self.aggregate)

    def layer_differences(self) -> Interval | None:
        """The differences (layer) under the pooling of the geometry."""
        return None if self.geometry is None else by_layer(self.comparison, self.differences, self.geometry.pooling)


def by_layer(comparison: Comparison, differences: Differences, pooling: str) -> Interval | None:
    """The differences (layer) under a pooling; None if the grids have no such cells in common."""
    grid = differences.grid
    if grid is None or pooling not in comparison.one.poolings:
        return None
    inside = slice(comparison.one.last + 1), comparison.one.poolings.index(pooling)
    return Interval(grid.difference[inside], grid.low[inside], grid.high[inside])


def about_models(findings: Findings) -> dict[str, dict[str, object]]:
    """A and B: models and measurement settings."""
    return {
        side: {
            "model": found.name,
            "model_revision": found.revision,
            "model_digest": found.digest,
            "precision": scores.precision,
            "device": scores.device,
            "max_length": scores.max_length,
            "sentences": scores.sentences,
            "truncated": scores.truncated,
            "not_measurable": ", ".join(reading.title for reading in scores.not_measured) or None,
        }
        for side, found, scores in zip("AB", findings.found, findings.scores, strict=True)
    }


def about_measuring(findings: Findings) -> dict[str, object]:
    """The evaluation set and the metric."""
    return {
        "set": findings.pairs.name,
        "set_digest": findings.pairs.digest,
        "pairs": len(findings.pairs),
        "metric": findings.metric,
        "aggregate": findings.aggregate,
        "resamples": RESAMPLES,
        "level": LEVEL,
        "seed": findings.seed,
        "versions": in_words.versions(LIBRARIES),
    }


def as_json(findings: Findings) -> str:
    """Everything, as JSON."""
    geometry, picked = findings.geometry, findings.picked_here
    content = {
        **about_models(findings),
        **about_measuring(findings),
        "learned": learned_text.as_json(findings.learned, findings.probes.pairs),
        "where": findings.where,
        "verdict": findings.verdict.as_json(),
        "chosen": findings.chosen(),
        **({} if picked is None else {"picked": _about_picking(picked)}),
        "cells": findings.cells(),
        "cosines_by_grade": median_rows(findings.comparison.gold_bins()),
    }
    if geometry is not None:
        content["geometry"] = {
            "pooling": geometry.pooling,
            "sentences": geometry.sentences,
            "pairs": geometry.pairs,
            "seed": geometry.seed,
            "close_pairs": geometry.close,
            "close_from": geometry.close_from,
            "layers": geometry_rows(geometry),
            "drift": drift_rows(geometry, findings.layer_differences()),
        }
    return json.dumps(content, indent=1, ensure_ascii=False)


def _about_picking(picked: DevPick) -> dict[str, object]:
    return {
        "on": picked.pairs,
        "pairs": picked.count,
        "scores": dict(zip("AB", (round(score, 4) for score in picked.scores), strict=True)),
        "pairs_in_both": picked.shared,
    }


def as_text(findings: Findings) -> str:
    """The verdict, then the differences as a grid for the terminal, the significant ones marked."""
    comparison, grid, own = findings.comparison, findings.differences.grid, findings.differences.own
    one, other = findings.found
    row = findings.chosen()
    lines = [
        *_learned_lines(findings),
        *_scores_of_tuned(findings.verdict),
        "",
        f"{findings.pairs.name}: {findings.metric} × 100 on {len(findings.pairs):,} pairs"
        + f", {findings.aggregate}" * comparison.one.has_parts,
        f"A  {_score(row['A'])}  {row[f'{READING} A']} of {one.name}",
        f"B  {_score(row['B'])}  {row[f'{READING} B']} of {other.name}",
        f"B - A  {told_difference(findings.differences.chosen)}",
        *([findings.picked_here.told] if findings.picked_here else []),
        "",
    ]
    if grid is None:
        lines.append(comparison.why_no_cells)
        return "\n".join(lines)
    lines.append(f"{'B - A':>8}" + "".join(f"{pooling:>9}" for pooling in comparison.one.poolings))
    for place, layers in enumerate(comparison.rows):
        cells = "".join(_cell(grid, (place, column)) for column in range(len(comparison.one.poolings)))
        lines.append(f"{layers.label:>8}{cells}".rstrip())
    if own is not None:
        lines.append(f"{'default':>8}{_cell(own, ())}".rstrip())
    lines += ["", *comparison.told_not_measured]
    lines += [f"* significant: the {CI} ({RESAMPLES:,} bootstrap resamples) excludes 0"]
    return "\n".join(lines)


def _learned_lines(findings: Findings) -> list[str]:
    """What was learned, or why that is not known; the verdict if nothing was measured."""
    told = learned_text.lines(findings.learned, findings.probes.pairs, findings.where)
    why = [findings.probes.why_none] if findings.probes.why_none else []
    return [*(told or [findings.verdict.sentence().text]), *why, ""]


def _scores_of_tuned(verdict: ComparisonVerdict) -> list[str]:
    """The scores of a tuned model and its base; nothing of other models, whose scores follow."""
    if verdict.tuning is None:
        return []
    told = [f"{_score(one.score):>8}  {what}: {one.reading} of {one.model}" for what, one in verdict.numbers()]
    return [*told, *([verdict.why_not_same] if verdict.why_not_same else [])]


def _cell(interval: Interval, at: tuple[int, ...]) -> str:
    if not math.isfinite(interval.difference[at]):
        return " " * 9
    return f"{interval.difference[at]:+8.2f}{'*' if interval.sure[at] else ' '}"


def _score(score: object) -> str:
    return f"{score:.2f}" if isinstance(score, float) and math.isfinite(score) else NO_SCORE
