"""The results of a comparison as JSON and text."""

from __future__ import annotations

import json
import math
import shlex
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from explorer import in_words
from explorer.data import sources
from explorer.data.set_items import ItemSet, several, size_of
from explorer.data.text_sets import GradedPairs
from explorer.encoding.load import chosen_prompts
from explorer.encoding.read.pooling import OWN
from explorer.in_words import Rows, versions
from explorer.measuring.comparing import comparison_verdict, learned, splits
from explorer.measuring.comparing.comparison import (
    READING,
    SIGNIFICANT,
    Comparison,
    Differences,
    cell_rows,
    chosen_row,
    chosen_scores,
    default_reading,
    difference_row,
    not_measured,
    shown_cells,
    shown_own,
)
from explorer.measuring.comparing.comparison_verdict import ComparisonVerdict, judge, judged
from explorer.measuring.comparing.gold_bins import median_rows
from explorer.measuring.comparing.item_changes import ChangedItems, changed_items
from explorer.measuring.comparing.learned_facts import NOTHING, Learned
from explorer.measuring.geometry.layer_geometry import LayerGeometry, drift_rows, geometry_rows
from explorer.measuring.scores import layer_scores
from explorer.measuring.scores.best_cell import DevPick
from explorer.measuring.scores.bootstrap import LEVEL, RESAMPLES, Interval
from explorer.measuring.scores.layer_scores import NO_SCORE
from explorer.measuring.scores.measure import Settings
from explorer.measuring.scores.verdict import CI

if TYPE_CHECKING:
    from explorer.encoding.locate.model_names import Found

LIBRARIES = ("torch", "transformers", "tokenizers", "numpy")
INTERVAL_BY = f"paired, {RESAMPLES:,} bootstrap resamples; of few items by Student's t"


@dataclass(frozen=True)
class NamedAs:
    """What models, set and dev set were called, and the measurement settings: what repeats a comparison."""

    models: tuple[str, str]
    on: str
    settings: Settings
    dev: str | None = None


@dataclass(frozen=True, eq=False)
class Findings:
    """What a comparison has found, which page, text, JSON and report are made of."""

    found: tuple[Found, Found]
    pairs: ItemSet
    comparison: Comparison
    differences: Differences
    metric: str
    aggregate: str
    geometry: LayerGeometry | None = None
    picked: DevPick | None = None  # the layer & pooling of each that is best on a dev set, if chosen so
    of_models: ComparisonVerdict | None = None  # the verdict on the model defaults, if they are not the chosen ones
    probes: Learned = NOTHING
    named: NamedAs | None = None  # how models and sets were named, which a report states as a command
    split: splits.SplitChanges | None = None  # the same in each group of a column, if asked for

    @property
    def verdict(self) -> ComparisonVerdict:
        """The verdict: better or worse, by how much, and whether it could be chance."""
        about = self.found, self.pairs, self.comparison, self.differences.chosen
        return self.of_models or judge(*about, self.metric, self.aggregate)

    @property
    def learned(self) -> Learned:
        """What the judged model learned, by the score and the probe packs."""
        return self.verdict.learned(self.probes)

    @property
    def where(self) -> str:
        """In which layers & poolings the score changed, in words."""
        return where(self.cells(), self.comparison.why_no_cells, backwards=self.after == 0)

    @property
    def after(self) -> int:
        """The side that is judged against the other: 1, unless A was tuned from B."""
        return self.verdict.tuning.tuned if self.verdict.tuning else 1

    @cached_property
    def about(self) -> Comparison:
        """What the verdict compares: a tuned model and its base under their model defaults, other models as chosen."""
        return judged(self.comparison, self.verdict.tuning)

    @cached_property
    def changed(self) -> ChangedItems:
        """The items that improved and got worse."""
        return changed_items(self.pairs, self.comparison, self.about, self.metric, self.after)

    @property
    def picked_here(self) -> DevPick | None:
        """How the compared layer & pooling of each was picked; None if it was not."""
        compared = self.comparison.one_reading, self.comparison.other_reading
        return self.picked if self.picked and self.picked.readings == compared else None

    def cells(self) -> Rows:
        """Scores, differences and intervals of every common layer & pooling."""
        return cell_rows(self.comparison, self.differences, self.metric, self.aggregate)


def layer_differences(findings: Findings, pooling: str) -> Interval | None:
    """The differences (layer) under a pooling; None if the grids have no such cells in common."""
    grid, scores = findings.differences.grid, findings.comparison.one
    if grid is None or pooling not in scores.poolings:
        return None
    return grid.at((slice(scores.last + 1), scores.poolings.index(pooling)))


def chosen(findings: Findings) -> dict[str, object]:
    """Both scores under the chosen layer & pooling, the difference and its interval."""
    return chosen_row(findings.comparison, findings.differences.chosen, findings.metric, findings.aggregate)


def about_models(findings: Findings) -> dict[str, dict[str, object]]:
    """A and B: models and measurement settings."""
    return {
        side: {
            "model": found.name,
            "model_revision": found.revision,
            "model_digest": found.files.digest,
            **chosen_prompts.as_json(found),
            "precision": scores.precision,
            "device": scores.device,
            **({"device_name": scores.device_name} if scores.device_name else {}),
            "max_length": scores.max_length,
            "sentences": scores.sentences,
            "truncated": scores.truncated,
            **({"in_windows": scores.in_windows} if scores.in_windows else {}),
            "not_measurable": ", ".join(reading.title for reading in scores.not_measured) or None,
        }
        for side, found, scores in zip("AB", findings.found, findings.comparison.scores, strict=True)
    }


def about_measuring(findings: Findings) -> dict[str, object]:
    """The evaluation set and the metric."""
    return {
        "set": findings.pairs.name,
        "set_digest": findings.pairs.digest,
        "item": findings.pairs.item,
        several(findings.pairs.item): len(findings.pairs),
        **({"passages": findings.pairs.pool} if findings.pairs.pool else {}),
        "metric": findings.metric,
        "aggregate": findings.aggregate,
        "resamples": RESAMPLES,
        "level": LEVEL,
        "seed": findings.comparison.seed,
        "versions": versions(LIBRARIES),
    }


def as_json(findings: Findings) -> str:
    """Everything, as JSON."""
    geometry, picked = findings.geometry, findings.picked_here
    content: dict[str, object] = {
        **about_models(findings),
        **about_measuring(findings),
        "learned": learned.as_json(findings.learned),
        "where": findings.where,
        "verdict": comparison_verdict.as_json(findings.verdict),
        "chosen": chosen(findings),
    }
    if picked is not None:
        content["picked"] = {
            "on": picked.pairs,
            "pairs": picked.count,
            "scores": dict(zip("AB", (round(score, 4) for score in picked.scores), strict=True)),
            "pairs_in_both": picked.shared,
        }
    content["items"] = findings.changed.as_json()
    if findings.split is not None:
        content["split"] = splits.as_json(findings.split)
    content["cells"] = findings.cells()
    if isinstance(findings.pairs, GradedPairs):
        content["cosines_by_grade"] = median_rows(findings.comparison.gold_bins(findings.pairs))
    if geometry is not None:
        content["geometry"] = {
            "pooling": geometry.pooling,
            "sentences": geometry.sentences,
            "pairs": geometry.pairs,
            "seed": geometry.seed,
            "close_pairs": geometry.close,
            "close_from": geometry.close_from,
            "layers": geometry_rows(geometry),
            "drift": drift_rows(geometry, layer_differences(findings, geometry.pooling)),
        }
    return json.dumps(content, indent=1, ensure_ascii=False)


def as_text(findings: Findings) -> str:
    """The verdict, then the differences as a grid for the terminal, the significant ones marked."""
    comparison, grid, own = findings.comparison, findings.differences.grid, findings.differences.own
    scores, verdict = chosen_scores(comparison, findings.metric, findings.aggregate), findings.verdict
    lines = learned.lines(findings.learned, findings.where) or [verdict.sentence().text]
    lines += [*filter(None, (findings.probes.why_none, verdict.why_optimistic)), ""]
    if verdict.tuning:  # the scores of other models follow
        lines += [
            f"{layer_scores.text_of(one.score):>8}  {what}: {one.reading} of {one.model}"
            for what, one in comparison_verdict.labelled_scores(verdict)
        ]
        if missing := comparison_verdict.why_not_same(verdict):
            lines.append(missing)
    named = [one.name + chosen_prompts.in_words(one) for one in findings.found]
    lines += [
        "",
        f"{findings.pairs.name}: {findings.metric} × 100 on {size_of(findings.pairs)}"
        + f", {findings.aggregate}" * comparison.one.has_parts,
        f"A  {layer_scores.text_of(scores[0])}  {comparison.one_reading.title} of {named[0]}",
        f"B  {layer_scores.text_of(scores[1])}  {comparison.other_reading.title} of {named[1]}",
        f"B - A  {difference_text(scores, findings.differences.chosen)}",
        *([f"No score: {verdict.why_none}."] if verdict.why_none else []),
        *([findings.picked_here.words] if findings.picked_here else []),
        *(["", *splits.as_text(findings.split, several(findings.pairs.item))] if findings.split else []),
        "",
    ]
    changed = ["", *findings.changed.lines()]
    if grid is None:
        return "\n".join([*lines, comparison.why_no_cells, *changed])
    lines.append(f"{'B - A':>8}" + "".join(f"{pooling:>9}" for pooling in comparison.one.poolings))
    about = findings.metric, findings.aggregate
    for layers, differences, sure in zip(comparison.rows, shown_cells(comparison, *about), grid.sure, strict=True):
        lines.append(f"{layers.label:>8}{''.join(map(_cell, differences, sure))}".rstrip())
    if own is not None:
        lines.append(f"{'default':>8}{_cell(shown_own(comparison, *about), bool(own.sure))}".rstrip())
    lines += ["", *not_measured(comparison)]
    if verdict.is_test:
        lines += [f"* significant: the {CI} ({INTERVAL_BY}) excludes 0"]
    return "\n".join([*lines, *changed])


def _cell(difference: float, sure: bool) -> str:
    return f"{in_words.signed(difference):>8}{'*' if sure else ' '}" if math.isfinite(difference) else " " * 9


def measure_row(findings: Findings, metric: str) -> dict[str, object]:
    """Both scores by another measure of the set, under the layers & poolings that the verdict is about."""
    about, way = findings.about, (metric, findings.aggregate)
    interval = findings.verdict.shown(Differences(about.chosen(*way), None, None)).chosen
    return difference_row(chosen_scores(about, *way), interval, ())


def difference_text(scores: tuple[float, float], interval: Interval) -> str:
    """The difference of the scores of A and B, as they are shown: `+3.25 (+2.41 to +4.10)`; `n/a` if missing."""
    if not math.isfinite(float(interval.difference)):
        return NO_SCORE
    gap = in_words.gap(*scores)
    if not math.isfinite(float(interval.low)):
        return in_words.signed(gap)
    return in_words.change(gap, float(interval.low), float(interval.high))


def chance_text(interval: Interval) -> str:
    """Whether a difference is significant, in words."""
    if not math.isfinite(float(interval.difference)):
        return "a side has no score"
    if not math.isfinite(float(interval.low)):
        return "without an interval"
    return f"significant ({CI} excludes 0)" if interval.sure else "could be chance"


def command(findings: Findings, pooling: str = "mean") -> str:
    """The command that repeats a comparison, with its report; of a path there is the last part only."""
    named, comparison = findings.named, findings.comparison
    if named is None:
        return ""
    words = ["compare", *map(sources.shown, named.models), "--on", sources.shown(named.on)]
    sides = zip(comparison.scores, (comparison.one_reading, comparison.other_reading), strict=True)
    one, other = (OWN.title if reading == default_reading(scores) else reading.title for scores, reading in sides)
    if findings.picked_here and named.dev:
        words += ["--dev", sources.shown(named.dev)]
    elif one == other:
        words += ["--reading", one] if one != OWN.title else []
    else:
        words += ["--reading", one, "--other-reading", other]
    words += chosen_prompts.flags(*findings.found)
    stated = {"metric": findings.metric, "aggregate": findings.aggregate, "seed": comparison.seed, "pooling": pooling}
    usual = {"metric": comparison.one.metrics[0], "aggregate": "all", "seed": 0, "pooling": "mean"}
    for name, knob in Settings.knobs.items():
        stated[name], usual[name] = getattr(named.settings, name), knob.default
    for name, value in stated.items():
        if value != usual[name]:
            words += [f"--{name.replace('_', '-')}", str(value)]
    return f"python -m explorer {shlex.join([*words, '--report', 'report.html'])}"


def where(rows: Rows, why_no_cells: str, *, backwards: bool = False) -> str:
    """In which layers & poolings the score changed, from a row for each of them; `backwards` is from B to A.

    "" if they have no intervals.
    """
    known = [row for row in rows if isinstance(row["difference"], float)]
    if not known:
        return why_no_cells
    known = [row for row in known if row[SIGNIFICANT] is not None]
    if not known:
        return ""
    changed = [row for row in known if row[SIGNIFICANT]]
    if not changed:
        return f"In none of {len(known)} layers & poolings did the score change by more than chance."
    most = max(changed, key=lambda row: abs(float(str(row["difference"]))))
    before, after = (float(str(most[side])) for side in ("BA" if backwards else "AB"))
    return (
        f"In {len(changed)} of {len(known)} layers & poolings the score changed by more than chance (about "
        f"{max(1, round(0.05 * len(known)))} would by luck), most under {most[READING]}: "
        f"{in_words.arrow(before, after)}."
    )
