"""Judge a comparison: a tuned model against its base, each under its model default, or any two models as chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from explorer.data.graded.probes import Pack
from explorer.data.kinds import NamedSet
from explorer.encoding.load.declared import NOT_DECLARED
from explorer.encoding.read.head_facts import HeadFacts
from explorer.encoding.read.readings import OWN, Reading, Row
from explorer.measuring.comparing.comparison import Comparison
from explorer.measuring.comparing.learned import (
    NOTHING,
    Learned,
    ProbeChanges,
    ScoreChange,
    probe_changes,
    score_change,
)
from explorer.measuring.scores.bootstrap import Interval
from explorer.measuring.scores.layer_scores import LayerScores
from explorer.measuring.scores.meaning_judges import Floats
from explorer.measuring.scores.verdict_text import Sentence, sentence
from explorer.measuring.table_cells import rounded

if TYPE_CHECKING:
    from explorer.encoding.locate.model_names import Found

BASE, TUNED = "Base, model default", "Tuned model"
BASE_AS_TRAINED = "Base, trained layer & pooling"


@dataclass(frozen=True)
class Tuning:
    """Which of two models a run tuned from the other."""

    tuned: int  # 0 where it is A, 1 where it is B
    trained: HeadFacts | None  # the layer & pooling that was trained; None if unknown
    optimistic: bool = False  # the training text holds sentences of the pairs
    probes: ProbeChanges = NOTHING  # as the run measured them; none of a checkpoint


@dataclass(frozen=True)
class ScoredSide:
    """A model under a layer & pooling, and its score × 100, NaN if missing."""

    model: str
    title: str  # of the layer & pooling: `model default`
    declared: str  # what the model default is: `mean of the last layer → normalised`; "" of any other
    score: float

    @property
    def reading(self) -> str:
        """The layer & pooling in full: `model default (mean of the last layer → normalised)`."""
        return f"{self.title} ({self.declared})" if self.declared else self.title


@dataclass(frozen=True, eq=False)
class ComparisonVerdict:
    """The judged model, the one it is compared with, and their difference."""

    before: ScoredSide
    after: ScoredSide
    difference: Interval
    pairs: str
    tuning: Tuning | None = None
    same: ScoredSide | None = None  # the base under the layer & pooling that was trained, if it is a cell of the grid
    change: ScoreChange | None = None  # of the same scores; None if one is missing

    def learned(self, probes: ProbeChanges) -> Learned:
        """What the judged model learned, or does better than the other, by its score and the probe packs."""
        return Learned(probes.packs, self.change, self.tuning is not None)

    def probe_changes(
        self, packs: Sequence[Pack], one: Mapping[str, Floats], other: Mapping[str, Floats]
    ) -> ProbeChanges:
        """The changes of the probe packs to the judged model, from the cosines (pair) of each pack under A and B."""
        before, after = (other, one) if self.tuning and self.tuning.tuned == 0 else (one, other)
        return probe_changes(packs, before, after)

    def sentence(self) -> Sentence:
        """The verdict in words."""
        names = [f"{one.model} ({one.title})" for one in (self.before, self.after)]
        if self.tuning:
            names = [f"base {self.before.model}", f"tuned {names[1]}"]
        scores, gap = (self.before.score, self.after.score), self.difference
        numbers = (float(gap.difference), float(gap.low), float(gap.high))
        optimistic = bool(self.tuning and self.tuning.optimistic)
        return sentence(names[0], scores[0], names[1], scores[1], *numbers, self.pairs, optimistic=optimistic)

    def numbers(self) -> list[tuple[str, ScoredSide]]:
        """The labelled scores to show: base, tuned, and the base under the trained layer & pooling if known."""
        told = [(BASE, self.before), (TUNED, self.after)]
        if self.same is not None:
            told.insert(1, (BASE_AS_TRAINED, self.same))
        return told

    @property
    def why_not_same(self) -> str:
        """The reason why the base has no score under the layer & pooling that was trained."""
        if self.tuning is None or self.same is not None:
            return ""
        told = self.tuning.trained.words if self.tuning.trained else "not recorded by the run"
        what = f"The layer & pooling that was trained ({told}) is not a cell of the grid"
        return f"{what}, so the base has no score under it."

    def as_json(self) -> dict[str, object]:
        """Everything, with missing numbers as None."""
        said = self.sentence()
        content: dict[str, object] = {"kind": said.kind, "text": said.text, "optimistic": said.optimistic}
        for name, one in (("before", self.before), ("after", self.after)):
            content[name] = {"model": one.model, "reading": one.reading, "score": rounded(one.score)}
        gap = self.difference
        content |= {"difference": rounded(gap.difference), "low": rounded(gap.low), "high": rounded(gap.high)}
        if self.tuning:
            content |= {"declared_base": rounded(self.before.score), "exported": rounded(self.after.score)}
            content["same_reading_base"] = rounded(self.same.score) if self.same else None
        return content


def default_reading(scores: LayerScores) -> Reading:
    """The model default: what the model declares, else the mean of its last layer."""
    return OWN if scores.own is not None else Reading(Row((scores.last,)), "mean")


def _declared(reading: Reading, scores: LayerScores) -> str:
    """What the model default is, or that it is not declared; "" of any other layer & pooling."""
    if reading == OWN:
        return scores.own_title or ""
    return NOT_DECLARED if reading == default_reading(scores) else ""


def as_used(comparison: Comparison) -> Comparison:
    """The same two models, each under its model default."""
    one, other = map(default_reading, (comparison.one, comparison.other))
    if (one, other) == (comparison.one_reading, comparison.other_reading):
        return comparison
    return replace(comparison, one_reading=one, other_reading=other)


def judged(comparison: Comparison, tuning: Tuning | None) -> Comparison:
    """The comparison to judge: a tuned model and its base under their model defaults, other models as chosen."""
    return as_used(comparison) if tuning else comparison


def judge(
    found: tuple[Found, Found],
    pairs: NamedSet,
    comparison: Comparison,
    difference: Interval,
    ways: tuple[str, str],
    tuning: Tuning | None = None,
) -> ComparisonVerdict:
    """Judge a comparison with its chosen difference (B - A); a tuned A is judged against B."""
    readings = comparison.one_reading, comparison.other_reading
    sides = [
        ScoredSide(one.name, reading.title, _declared(reading, scores), scores.score(reading, *ways))
        for one, reading, scores in zip(found, readings, (comparison.one, comparison.other), strict=True)
    ]
    one, several = comparison.one.items_named
    told = f"{pairs.name} ({len(pairs):,} {several if len(pairs) != 1 else one}{_way(*ways)})"
    base, after = (1 - tuning.tuned, tuning.tuned) if tuning else (0, 1)
    gap = difference if after == 1 else _turned(difference)
    numbers = sides[base].score, sides[after].score, *map(float, (gap.difference, gap.low, gap.high))
    change = score_change(ways[0], pairs.name, len(pairs), numbers, bool(tuning and tuning.optimistic))
    if tuning is None:
        return ComparisonVerdict(sides[0], sides[1], difference, told, change=change)
    scores = (comparison.one, comparison.other)[base]
    cell = tuning.trained.cell(scores.last) if tuning.trained else None
    same = (
        None
        if cell is None or scores.lacks([cell])
        else ScoredSide(found[base].name, cell.title, "", scores.score(cell, *ways))
    )
    return ComparisonVerdict(sides[base], sides[after], gap, told, tuning, same, change)


def _turned(gap: Interval) -> Interval:
    """Turn B - A into A - B."""
    return Interval(*(np.asarray(-side) for side in (gap.difference, gap.high, gap.low)))


def _way(metric: str, aggregate: str) -> str:
    told = "" if metric == "Spearman" else f", {metric}"
    return told + ("" if aggregate == "all" else f", {aggregate} over sub-corpora")
