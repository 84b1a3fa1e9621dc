"""Judge a comparison: a tuned model against its base, each under its model default; other models as chosen."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from explorer.data.sample import Pack
from explorer.data.set_items import ItemSet, size_of
from explorer.data.shared_rows import NONE_USED, UsedRows
from explorer.encoding.load import chosen_prompts
from explorer.encoding.load.declared import NOT_DECLARED
from explorer.encoding.read.head_facts import HeadFacts
from explorer.encoding.read.pooling import OWN, Reading
from explorer.in_words import rounded
from explorer.measuring.comparing.learned_facts import NOTHING, Learned, probe_changes
from explorer.measuring.comparing.nothing_learned import NothingLearned
from explorer.measuring.comparing.verdict_sentence import Sentence, sentence
from explorer.measuring.scores import power
from explorer.measuring.scores.bootstrap import Interval
from explorer.measuring.scores.judge import Floats, Gap
from explorer.measuring.scores.layer_scores import why_missing
from explorer.measuring.scores.verdict import UNKNOWN, UNLEARNED, ElsewhereVerdict, Verdict, are_alike, without_test

if TYPE_CHECKING:
    from explorer.encoding.locate.model_names import Found

from explorer.measuring.comparing.comparison import Comparison, Differences, as_used, default_reading

BASE, TUNED = "Base, model default", "Tuned model"
BASE_AS_TRAINED = "Base, trained layer & pooling"
TEST_ON = "To judge it by rows that it was not trained on, compare on {}."
TEST_BY = "The folds of its run judged these rows by {}, of all rows: choose that metric."
OF_FOLDS = (
    "The verdict is of the run's folds: each row is judged by a model that was not trained on it. All other scores on "
    "these rows are of the model that was then trained on every one of them, so they test nothing."
)


@dataclass(frozen=True)
class Tuning:
    """Which of two models a run tuned from the other."""

    tuned: int  # 0 where it is A, 1 where it is B
    trained: HeadFacts | None  # the layer & pooling that was trained; None if unknown
    optimistic: bool = False  # the training text holds sentences of the pairs
    probes: Learned = NOTHING  # as the run measured them; none of a checkpoint
    facts: Mapping[str, str] = field(default_factory=dict)  # further facts of the run, in words by their title
    folds: Verdict | None = None  # on these pairs, each judged by a model that was not trained on it
    folds_by: str = ""  # the measure of that verdict
    test: str = ""  # the name of the set that tests the tuned model, in the run


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
    """The verdict on one of two models, each under a layer & pooling, against the other."""

    before: ScoredSide
    after: ScoredSide
    score: Verdict
    measure: str
    pairs: ItemSet
    pairs_text: str  # which pairs and how many, in words
    tuning: Tuning | None = None
    same: ScoredSide | None = None  # the base under the layer & pooling that was trained, if it is a cell of the grid
    trained: Reading | None = None  # that layer & pooling, if a part of the difference is due to it
    poolings: str = ""  # the same in words: `cls of layer 6 in place of mean of layer 6`
    used: UsedRows = NONE_USED  # items in the dev set that chose one of the models, or that one was trained on
    why_none: str = ""  # why a side has no score

    @property
    def optimistic(self) -> bool:
        """Whether the judged model was trained on sentences of the pairs, or some of them chose a model."""
        if _is_of_folds(self) or not self.is_test:
            return False
        return bool(self.used) or (self.tuning is not None and self.tuning.optimistic)

    @property
    def is_test(self) -> bool:
        """Whether an item is left that neither chose a model nor was trained on."""
        return not self.used.none_left

    @property
    def why_optimistic(self) -> str:
        """How many of the pairs chose a model, or were trained on; if all were, what to compare on; "" if none.

        Where the verdict is of folds, what else is shown is of the model that was trained on all rows.
        """
        if _is_of_folds(self):
            return OF_FOLDS
        if self.is_test:
            return self.used.words
        if self.tuning is None or not self.score.trained_on or not self.tuning.test:
            return ""
        if self.tuning.test != self.pairs.name:
            return TEST_ON.format(self.tuning.test)
        return TEST_BY.format(self.tuning.folds_by) if self.tuning.folds else ""

    def shown(self, differences: Differences) -> Differences:
        """The differences as they are shown: without intervals if the set tests nothing."""
        return differences if self.is_test else differences.without_intervals

    @property
    def nothing(self) -> NothingLearned | None:
        """Why the tuned model equals its base, if it does."""
        return self.tuning.probes.nothing if self.tuning else None

    def learned(self, probes: Learned) -> Learned:
        """What the judged model learned, or does better than the other, by its score and the probe packs."""
        if self.nothing:
            return Learned(nothing=self.nothing)
        tuned = self.tuning is not None
        others = self.tuning.probes.elsewhere if self.tuning else ()
        probes = replace(probes, elsewhere=tuple(one for one in others if one.name != self.pairs.name))
        if self.score.kind == UNKNOWN:
            return replace(probes, tuned=tuned)
        size, pairs = len(self.pairs), self.pairs
        main = ElsewhereVerdict(pairs.name, size, size, self.measure, self.score, pairs.item, pairs.pool)
        return replace(probes, main=main, tuned=tuned, optimistic=self.optimistic, poolings=self.poolings)

    def probe_changes(
        self,
        packs: Sequence[Pack],
        one: Mapping[str, Floats],
        other: Mapping[str, Floats],
        as_trained: Mapping[str, Floats] | None = None,
    ) -> Learned:
        """The changes of the probe packs to the judged model, from the cosines (pair) of each pack under A and B.

        `as_trained` are those of the base under the layer & pooling that was trained, if it is another one.
        """
        before, after = (other, one) if self.tuning and self.tuning.tuned == 0 else (one, other)
        return probe_changes(packs, before, after, as_trained)

    def sentence(self) -> Sentence:
        """The verdict in words."""
        if self.nothing:
            return Sentence.of(UNLEARNED, self.nothing.words)
        before, after = (f"{one.model} ({one.title})" for one in (self.before, self.after))
        if self.tuning:
            before, after = f"base {self.before.model}", f"tuned {after}"
        about = before, after, self.pairs_text
        more = {"poolings": self.poolings, "why_none": self.why_none}
        return sentence(self.score, *about, optimistic=self.optimistic, **more)


def _is_of_folds(verdict: ComparisonVerdict) -> bool:
    """Whether each item was judged by a model that was not trained on it, as the run measured it."""
    return verdict.tuning is not None and verdict.score is verdict.tuning.folds


def judged(comparison: Comparison, tuning: Tuning | None) -> Comparison:
    """The comparison to judge: a tuned model and its base under their model defaults, other models as chosen."""
    return as_used(comparison) if tuning else comparison


def as_trained(comparison: Comparison, tuning: Tuning | None, metric: str) -> Comparison | None:
    """The comparison of a tuned model with its base under the layer & pooling that was trained.

    None if that is the model default, so that all of the difference is due to training, or no cell of the grid.
    """
    if tuning is None or tuning.trained is None:
        return None
    base = comparison.scores[1 - tuning.tuned]
    cell = tuning.trained.cell(base.last)
    if cell is None or base.lacks([cell]):
        return None
    if are_alike(base.items_of(default_reading(base), metric), base.items_of(cell, metric)):
        return None
    return replace(comparison, one_reading=cell) if tuning.tuned else replace(comparison, other_reading=cell)


def judge(
    found: tuple[Found, Found],
    pairs: ItemSet,
    comparison: Comparison,
    difference: Interval,
    metric: str,
    aggregate: str,
    tuning: Tuning | None = None,
    training: Interval | None = None,
    used: UsedRows = NONE_USED,
) -> ComparisonVerdict:
    """Judge a comparison with its chosen difference (B - A); a tuned A is judged against B.

    `training` is the difference (B - A) with the base under the layer & pooling that was trained, if it is another one.
    A set of which every item chose one of the models, or was trained on, has no verdict (`used`).
    """
    both = comparison.scores
    readings = comparison.one_reading, comparison.other_reading
    sides = []
    for one, reading, scores in zip(found, readings, both, strict=True):
        declared = scores.own_title if reading == OWN else NOT_DECLARED if reading == default_reading(scores) else ""
        sides.append(
            ScoredSide(
                one.name + chosen_prompts.in_words(one),
                reading.title,
                declared,
                scores.score(reading, metric, aggregate),
            )
        )
    base, after = (1 - tuning.tuned, tuning.tuned) if tuning else (0, 1)
    cell = tuning.trained.cell(both[base].last) if tuning and tuning.trained else None
    same = None
    if cell is not None and not both[base].lacks([cell]):
        same = ScoredSide(found[base].name, cell.title, "", both[base].score(cell, metric, aggregate))
    part = None if training is None else Gap.of(_towards(after, training))
    two = sides[base].score, sides[after].score
    gap, same_score = _towards(after, difference), same.score if same else math.nan
    before, tuned = (both[side].items_of(readings[side], metric) for side in (base, after))
    spread = power.spread(comparison.one.gold, before, tuned, gap, (comparison.one.statistic(metric), aggregate))
    score = Verdict.of(*two, gap, same_score, part, spread)
    if used.none_left:
        score = without_test(*two, same_score, trained_on=len(used.chosen) < used.of)
    if tuning and tuning.folds and (metric, aggregate) == (tuning.folds_by, "all"):
        score = tuning.folds
        sides[after] = replace(sides[after], score=math.nan if score.after is None else score.after)
    default = both[base].own_title if readings[base] == OWN else sides[base].title
    return ComparisonVerdict(
        sides[base],
        sides[after],
        score,
        metric,
        pairs,
        _pairs_text(pairs, metric, aggregate),
        tuning,
        same,
        cell if part else None,
        f"{cell.title} in place of {default}" if part and cell else "",
        used,
        next(filter(None, (why_missing(*side, metric, aggregate) for side in zip(both, readings, strict=True))), ""),
    )


def _towards(after: int, gap: Interval) -> Interval:
    """A difference B - A as that of the judged side to the other."""
    return gap if after == 1 else Interval(-gap.difference, -gap.high, -gap.low, gap.error)


def _pairs_text(pairs: ItemSet, metric: str, aggregate: str) -> str:
    """Which items and how many, and the measure: `STS-B test (1,379 pairs, Spearman)`."""
    way = "" if aggregate == "all" else f", {aggregate} over sub-corpora"
    return f"{pairs.name} ({size_of(pairs)}, {metric}{way})"


def labelled_scores(verdict: ComparisonVerdict) -> list[tuple[str, ScoredSide]]:
    """The labelled scores to show: base, tuned, and the base under the trained layer & pooling if known."""
    same = [] if verdict.same is None else [(BASE_AS_TRAINED, verdict.same)]
    return [(BASE, verdict.before), *same, (TUNED, verdict.after)]


def why_not_same(verdict: ComparisonVerdict) -> str:
    """The reason why the base has no score under the layer & pooling that was trained."""
    if verdict.tuning is None or verdict.same is not None:
        return ""
    text = verdict.tuning.trained.words if verdict.tuning.trained else "not recorded by the run"
    what = f"The layer & pooling that was trained ({text}) is not a cell of the grid"
    return f"{what}, so the base has no score under it."


def as_json(verdict: ComparisonVerdict) -> dict[str, object]:
    """Everything of a verdict, with missing numbers as None."""
    content: dict[str, object] = {"kind": verdict.score.kind, "text": verdict.sentence().text}
    content |= {"optimistic": verdict.optimistic, "no_score": verdict.why_none or None}
    for name, one in (("before", verdict.before), ("after", verdict.after)):
        content[name] = {"model": one.model, "reading": one.reading, "score": rounded(one.score)}
    names = "difference", "low", "high"
    content |= {name: rounded(getattr(verdict.score, name)) for name in (*names, "smallest_gain")}
    content["items_needed"] = verdict.score.items_needed
    if verdict.tuning:
        scores = verdict.score.before, verdict.score.after, verdict.score.before_as_trained
        about_run = "declared_base", "exported", "same_reading_base"
        content |= {name: rounded(score) for name, score in zip(about_run, scores, strict=True)}
    if part := verdict.score.training:
        content["training"] = {name: rounded(getattr(part, name)) for name in names}
    return content | verdict.used.as_json
