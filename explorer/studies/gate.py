"""Judge model B against model A on several evaluation sets, as a gate before B takes the place of A.

A set fails if B is significantly worse on it, or by more points than are allowed; one that could not be measured is no
pass. The outcome is text, JSON, or JUnit XML, which build servers show.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from statistics import NormalDist
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import numpy as np

from explorer import in_words
from explorer.data import sources
from explorer.data.retrieval_sets import Passages, RetrievalSet, among
from explorer.data.set_items import ItemSet, size_of
from explorer.encoding.read.pooling import Reading
from explorer.errors import UNMEASURED, StrataError
from explorer.evaluating.kinds import MeasureOptions, judged
from explorer.evaluating.results import rank_groups
from explorer.knobs import LARGEST_SEED, Knobs, knob
from explorer.measuring.comparing import comparison_verdict
from explorer.measuring.comparing.comparison import Comparison
from explorer.measuring.comparing.comparison_verdict import ComparisonVerdict, judge
from explorer.measuring.scores.bootstrap import LEVEL, edges
from explorer.measuring.scores.measure import Settings
from explorer.measuring.scores.verdict import BETTER, CHANCE, CHOSE, TRAINED_ON, UNKNOWN, WORDS, WORSE, Verdict
from explorer.progress import Work
from explorer.training.record.run_results import named_set, verdict_on

if TYPE_CHECKING:
    from explorer.encoding.locate.model_names import Found

PASSED, FAILED, NOT_MEASURED = "passed", "failed", "not measured"
NO_EVIDENCE = {
    CHOSE: "The set chose one of the models, so its score is no evidence.",
    TRAINED_ON: "A model was trained on the whole set, so its score is no evidence.",
}


@dataclass(frozen=True)
class GateOptions(Knobs):
    """When the gate fails."""

    fail_if_worse: bool = knob(
        False, help="A gate: exit with 1 if B is significantly worse on a set, with 2 if one could not be measured."
    )
    by: float | None = knob(
        None,
        item=float,
        low=0,
        high=100,
        metavar="POINTS",
        needs="fail_if_worse",
        help="Of the gate: also exit with 1 if the score is lower by more points (× 100), chance or not.",
    )


@dataclass(frozen=True)
class ScoredBy(MeasureOptions):
    """The measure of a comparison, and the seed of its intervals."""

    seed: int = knob(0, low=0, high=LARGEST_SEED, help="Of the bootstrap.")


@dataclass(frozen=True, eq=False)
class SetOutcome:
    """What the gate says of one evaluation set."""

    name: str
    state: str  # PASSED, FAILED or NOT_MEASURED
    sentence: str  # the verdict, or why there is none
    verdict: ComparisonVerdict | None = None

    def as_json(self) -> dict[str, object]:
        """The outcome with its numbers."""
        found: dict[str, object] = {"set": self.name, "state": self.state, "text": self.sentence}
        if self.verdict is None:
            return found
        given = self.verdict.pairs
        about = {"digest": given.digest, "items": len(given), "item": given.item, "measure": self.verdict.measure}
        return (
            found
            | about
            | ({"passages": given.pool} if given.pool else {})
            | {"verdict": comparison_verdict.as_json(self.verdict)}
        )


@dataclass(frozen=True)
class Average:
    """B against A on average over several sets: whether they differ on these sets, and on sets like these."""

    sets: int
    measure: str
    difference: float  # × 100, of both averages as they are shown
    on_these: str  # BETTER, WORSE or CHANCE
    on_like: str | None  # None if the sets are too few

    @classmethod
    def of(cls, measure: str, verdicts: Sequence[Verdict]) -> Average:
        """The average of verdicts that have a score."""
        before, after, _, low, high = np.array([one.known for one in verdicts]).T
        errors = (high - low) / 2 / NormalDist().inv_cdf(edges(LEVEL)[1])
        variances = np.full((2, 2), (errors**2).sum() / len(verdicts) ** 2)
        claims = rank_groups.both_claims(np.stack([before, after]), variances, np.zeros(2))
        difference = in_words.gap(before.mean(), after.mean())
        kind = BETTER if after.mean() > before.mean() else WORSE
        on_these, on_like = (None if one is None else kind if one.best_is_clear else CHANCE for one in claims)
        assert on_these is not None, "it needs no number of sets"
        return cls(len(verdicts), measure, difference, on_these, on_like)

    @property
    def sentence(self) -> str:
        """The difference, and both claims."""
        needed = f"not measured, since 2 models need at least {rank_groups.fewest_tasks(2)} sets"
        on_like = needed if self.on_like is None else WORDS[self.on_like].lower()
        return (
            f"On average over {self.sets} sets, B − A is {in_words.signed(self.difference)} ({self.measure}). "
            f"On these sets: {WORDS[self.on_these].lower()}. On sets like these: {on_like}."
        )


@dataclass(frozen=True, eq=False)
class Gate:
    """The outcomes on all sets."""

    models: tuple[str, str]
    outcomes: tuple[SetOutcome, ...]
    keeps_out: bool = True  # whether a worse model is an error

    @property
    def exit_code(self) -> int:
        """1 if a set fails and that is an error, else 2 if one was not measured, else 0."""
        states = {one.state for one in self.outcomes}
        return 1 if self.keeps_out and FAILED in states else UNMEASURED if NOT_MEASURED in states else 0

    @property
    def average(self) -> Average | None:
        """B against A over all sets; None unless several have a score, by one measure."""
        verdicts = [one.verdict for one in self.outcomes if one.verdict is not None and one.verdict.score.known]
        scores = {one.pairs.digest: one.score for one in verdicts}  # a set that is named twice counts once
        measures = {one.measure for one in verdicts}
        return Average.of(measures.pop(), list(scores.values())) if len(measures) == 1 < len(scores) else None

    def lines(self) -> list[str]:
        """A line for each set, one for their average, and how many passed."""
        counts = [f"{sum(one.state == state for one in self.outcomes)} {state}" for state in _STATES]
        every = [f"{one.state}: {one.name}: {one.sentence}" for one in self.outcomes]
        every += [self.average.sentence] if self.average else []
        return [*every, f"B ({self.models[1]}) against A ({self.models[0]}): {', '.join(counts)}"]

    def as_json(self) -> dict[str, object]:
        """All of it."""
        return {
            "A": self.models[0],
            "B": self.models[1],
            "exit_code": self.exit_code,
            "sets": [one.as_json() for one in self.outcomes],
        } | ({"average": asdict(self.average)} if self.average else {})

    def junit(self) -> bytes:
        """A test suite with a test for each set: a failure where B is worse, an error where nothing was measured."""
        count = {state: str(sum(one.state == state for one in self.outcomes)) for state in _STATES}
        suite = ElementTree.Element(
            "testsuite",
            name=f"{self.models[1]} against {self.models[0]}",
            tests=str(len(self.outcomes)),
            failures=count[FAILED],
            errors=count[NOT_MEASURED],
        )
        for one in self.outcomes:
            name, text = (_NOT_IN_XML.sub("\ufffd", words) for words in (one.name, one.sentence))
            case = ElementTree.SubElement(suite, "testcase", classname="strata.compare", name=name)
            where = {FAILED: "failure", NOT_MEASURED: "error"}.get(one.state)
            if where:
                ElementTree.SubElement(case, where, message=text).text = text
            else:
                ElementTree.SubElement(case, "system-out").text = text
        return str.encode(ElementTree.tostring(suite, encoding="unicode", xml_declaration=True))


_STATES = PASSED, FAILED, NOT_MEASURED
_NOT_IN_XML = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")  # XML 1.0 has no such characters


@dataclass(frozen=True, eq=False)
class Judged:
    """Two models scored on one set under a metric, and the verdict."""

    comparison: Comparison
    about: Comparison  # of the verdict: the model defaults, if one model was tuned from the other
    verdict: ComparisonVerdict
    metric: str


def compared(
    found: tuple[Found, Found],
    given: ItemSet,
    readings: tuple[Reading, Reading],
    settings: Settings,
    metric: str | None = None,
    aggregate: str = "all",
    seed: int = 0,
) -> Work[Judged]:
    """Score both models on a set of any kind, and judge B against A; a set without that metric has its main one."""
    sides = []
    for one, reading in zip(found, readings, strict=True):
        sides.append((yield from judged(given).measured(one, settings, also=[reading])))
    if metric is None or metric not in sides[0].metrics:
        metric = sides[0].metrics[0]
    comparison = Comparison(sides[0], sides[1], *readings, seed)
    about, verdict = verdict_on(found, given, comparison, metric, aggregate, lambda one: one.chosen(metric, aggregate))
    return Judged(comparison, about, verdict, metric)


def gate(
    found: tuple[Found, Found],
    names: Sequence[str],
    readings: tuple[Reading, Reading],
    settings: Settings,
    metric: str | None = None,
    aggregate: str = "all",
    seed: int = 0,
    by: float | None = None,
    *,
    online: bool = False,
    corpus: Passages | None = None,
) -> Work[Gate]:
    """Judge B on each set; with `by` it also fails where its score is lower by more points, chance or not.

    A set without the metric is judged by its main one, and its outcome says so. Queries are searched among the passages
    of a corpus, too, if one is given.
    """
    outcomes = []
    for name in names:
        shown = sources.shown(name)
        try:
            given = named_set(name, online)
            given = among(given, corpus) if corpus and isinstance(given, RetrievalSet) else given
            one = yield from compared(found, given, readings, settings, metric, aggregate, seed)
        except StrataError as error:
            outcomes.append(SetOutcome(shown, NOT_MEASURED, str(error)))
            continue
        verdict = one.verdict
        if verdict.tuning is not None and verdict.tuning.tuned == 0:  # of A, which was tuned from B
            gap = one.about.chosen(one.metric, aggregate)
            verdict = judge(found, given, one.about, gap, one.metric, aggregate, used=verdict.used)
        outcome = _outcome(f"{shown} ({size_of(given)})", verdict, by)
        if metric not in (None, one.metric):
            text = f"{outcome.sentence} By {one.metric}: the set has no {metric}."
            outcome = replace(outcome, sentence=text)
        outcomes.append(outcome)
    return Gate((found[0].name, found[1].name), tuple(outcomes))


def _outcome(name: str, verdict: ComparisonVerdict, by: float | None) -> SetOutcome:
    score = verdict.score
    if verdict.nothing is None and score.kind in (*NO_EVIDENCE, UNKNOWN):
        why = NO_EVIDENCE.get(score.kind) or verdict.why_none or "There is no score."
        return SetOutcome(name, NOT_MEASURED, why, verdict)
    lost = -(score.shown_difference or 0.0)
    fails = score.kind == WORSE or (by is not None and lost > by)
    return SetOutcome(name, FAILED if fails else PASSED, verdict.sentence().text, verdict)
