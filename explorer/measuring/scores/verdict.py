"""Judge a model against another on an evaluation set: better, worse or could be chance.

A tuned model, as exported, is judged against its base under the model default. The base has a second score, under the
layer & pooling that was trained, which shows how much of the difference is due to training. A set that chose the model,
such as the dev set of a run, has scores and no verdict: the best of many scores on it is better by chance already.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from explorer import in_words, typed_json
from explorer.data.set_items import counted
from explorer.measuring.scores.bootstrap import LEVEL
from explorer.measuring.scores.judge import Gap, Judge, PackChange, PairChange
from explorer.measuring.scores.metrics import item_by_main

if TYPE_CHECKING:
    from explorer.measuring.scores.bootstrap import Interval
    from explorer.measuring.scores.power import Spread

Floats = NDArray[np.float64]
Kept = TypeVar("Kept")

BETTER, WORSE, CHANCE, UNKNOWN = "better", "worse", "chance", "unknown"
CHOSE = "chose"  # the set chose the model, so that its score is no evidence
TRAINED_ON = "trained on"  # the model was trained on all of its rows, so that it is none either
MIXED = "mixed"  # of several numbers, one is better and another is worse
UNLEARNED = "nothing learned"  # the tuned model equals its base
WORDS = {
    BETTER: "Better",
    WORSE: "Worse",
    CHANCE: "Could be chance",
    UNKNOWN: "Not known",
    CHOSE: "Chose it",
    TRAINED_ON: "Trained on it",
    UNLEARNED: "Nothing was learned",
}
CI = "95 % CI"
NO_TEST = {
    CHOSE: "A set that chose a model cannot test it.",
    TRAINED_ON: "A set that a model was trained on cannot test it.",
}
ALIKE = 1e-5  # a cosine or a score of an item differs by less only through rounding
ELSEWHERE = "elsewhere"
OPTIMISTIC = "the training text or the dev set holds some of these rows, so the score is optimistic"


@dataclass(frozen=True)
class Verdict:
    """Scores × 100 of a model and of the one it is judged against, and their difference; None where missing.

    Before is the base of a tuned model, a whole encoder that was made smaller, or model A. Files name the scores after
    the first of these.
    """

    before: float | None = typed_json.field_as("declared_base")
    before_as_trained: float | None = typed_json.field_as("same_reading_base")  # the base, as its tuned model is read
    after: float | None = typed_json.field_as("exported")
    difference: float | None = None  # after less before
    low: float | None = None  # the 95 % interval of the difference, paired bootstrap
    high: float | None = None
    # the part of the difference that is due to training, after less before as trained; None if all of it is
    training: Gap | None = None
    chose: bool = False  # the set chose the model: there is no interval, and no verdict
    trained_on: bool = False  # the model was trained on the whole set: the same
    # × 100: what the items tell from chance with 80 %, if the models differ from item to item as much as these
    smallest_gain: float | None = None
    items_needed: int | None = None  # that tell a gain as large as the difference, with 80 %

    @classmethod
    def of(
        cls,
        before: float,
        after: float,
        gap: Interval,
        same_reading: float = math.nan,
        training: Gap | None = None,
        spread: Spread | None = None,
    ) -> Verdict:
        """The verdict on two scores and their difference, NaN where missing, and what its `spread` can tell."""
        difference, low, high = (_known(float(number)) for number in (gap.difference, gap.low, gap.high))
        found = cls(_known(before), _known(same_reading), _known(after), difference, low, high, training)
        if spread is None or not found.known:
            return found
        needed = spread.items_needed(float(gap.difference))
        return replace(found, smallest_gain=spread.smallest_gain(), items_needed=needed)

    @property
    def is_test(self) -> bool:
        """Whether the set neither chose the model nor was trained on as a whole."""
        return not (self.chose or self.trained_on)

    @property
    def known(self) -> list[float]:
        """Both scores, their difference and its interval, which a judgement needs; empty if one of them is missing."""
        numbers = self.before, self.after, self.difference, self.low, self.high
        found = [number for number in numbers if number is not None and math.isfinite(number)]
        return found if len(found) == len(numbers) else []

    @property
    def kind(self) -> str:
        """Better or worse if the interval of the difference excludes 0, else chance; unknown if a number is missing.

        A model is better only if training made it so too: another layer & pooling alone is no gain of training. On a
        set that tests nothing a model is neither.
        """
        if not self.is_test:
            return CHOSE if self.chose else TRAINED_ON
        if not self.known:
            return UNKNOWN
        gaps = Gap(*self.known[2:]), *filter(None, [self.training])
        if any(one.fell for one in gaps):
            return WORSE
        return BETTER if all(one.rose for one in gaps) else CHANCE

    @property
    def shown_difference(self) -> float | None:
        """The difference of both scores as they are shown, so that the three add up; None if one of them is missing."""
        if self.before is None or self.after is None:
            return None
        return in_words.gap(self.before, self.after)

    def ends(self, digits: int = 2) -> str:
        """The ends of the interval: `−0.89 to +0.05`; "" if a number is missing."""
        if self.shown_difference is None or not self.known:
            return ""
        *_, low, high = self.known
        return in_words.ends(self.shown_difference, low, high, digits=digits)

    @property
    def gap(self) -> str:
        """The difference with its interval: `−0.42 (−0.89 to +0.05)`; "" if a number is missing.

        Without an interval on a set that tests nothing: `+0.59, chose it`.
        """
        return self.gap_alone + by_training(self)

    @property
    def gap_alone(self) -> str:
        """The same without the part of training."""
        if not self.is_test and self.shown_difference is not None:
            return f"{in_words.signed(self.shown_difference)}, {WORDS[self.kind].lower()}"
        return f"{in_words.signed(self.shown_difference)} ({self.ends()})" if self.known else ""

    @property
    def shown_parts(self) -> tuple[float, float]:
        """The parts of the shown difference that are due to the pooling and to training, which add up to it."""
        if not self.known or self.training is None:
            return 0.0, 0.0
        before, after, *_ = self.known
        between = after - self.training.difference  # the base, under what was trained
        return in_words.gap(before, between), in_words.gap(between, after)


def without_test(before: float, after: float, same_reading: float = math.nan, *, trained_on: bool = False) -> Verdict:
    """Two scores on a set that chose the model, or that it was trained on, NaN where missing."""
    scores = _known(before), _known(same_reading), _known(after), _known(after - before)
    return Verdict(*scores, chose=not trained_on, trained_on=trained_on)


def by_training(verdict: Verdict) -> str:
    """What training changed, after a difference: `, by training +0.12 (−0.30 to +0.54)`; "" if all of it."""
    if not verdict.known or verdict.training is None:
        return ""
    part = verdict.training
    return f", by training {in_words.change(verdict.shown_parts[1], part.low, part.high)}"


@dataclass(frozen=True)
class ElsewhereVerdict:
    """The verdict on a set that a run was not trained for: its name, how many of its items are scored, and how."""

    name: str
    size: int
    of: int  # items of the whole set
    measure: str
    verdict: Verdict
    item: str = field(default="", compare=False)  # what they are; "" in a run of version 0.1.0
    pool: int = field(default=0, compare=False)  # passages that each query is searched among; 0 there, too

    def same_set(self, other: ElsewhereVerdict) -> bool:
        """Whether another verdict is on the same items."""
        return replace(self, verdict=other.verdict) == other

    @property
    def items(self) -> str:
        """`240 pairs`, `500 of 4,927 pairs`, or `60 queries among 480 passages`."""
        whole = counted(self.of, self.item or item_by_main(self.measure), self.pool)
        return whole if self.size == self.of else f"{self.size:,} of {whole}"


@dataclass(frozen=True)
class RunVerdict:
    """The verdicts on a tuned model on its test sets and on its dev set, and what changed in the probe packs."""

    test: Verdict | None = None
    dev: Verdict | None = None
    # whether the training text holds sentences of the main test set, or the dev set holds rows of it
    optimistic: bool = False
    more: tuple[Verdict, ...] = ()  # on further test sets
    packs: tuple[PackChange, ...] = ()  # of the base under its model default and the exported model, if held out
    pairs: tuple[PairChange, ...] = ()  # of these packs, to show what changed
    elsewhere: tuple[ElsewhereVerdict, ...] = ()  # on sets that it was not trained for
    optimistic_more: tuple[str, ...] = ()  # the further test sets whose scores are optimistic, too: `test 2`

    @property
    def by_use(self) -> dict[str, Verdict]:
        """The verdicts that there are, by use: test, test 2 and so on, dev."""
        every = by_use(self.dev, (self.test, *self.more))
        return {use: found for use, found in every.items() if found is not None}

    def is_optimistic(self, use: str) -> bool:
        """Whether the score on an evaluation set is optimistic."""
        return self.optimistic if use == "test" else use in self.optimistic_more

    def on_items_of(self, other: ElsewhereVerdict) -> Verdict | None:
        """The verdict on the items that another one is on; None if it was not scored on them."""
        return next((one.verdict for one in self.elsewhere if one.same_set(other)), None)


def by_use(dev: Kept, tests: Sequence[Kept]) -> dict[str, Kept]:
    """Something of each evaluation set, by use: test, test 2 and so on, then dev."""
    of_tests = {"test" if number == 1 else f"test {number}": one for number, one in enumerate(tests, start=1)}
    return {**of_tests, "dev": dev}


def of_uses(
    found: Mapping[str, Verdict],
    optimistic: Collection[str] = (),
    packs: tuple[PackChange, ...] = (),
    pairs: tuple[PairChange, ...] = (),
    elsewhere: tuple[ElsewhereVerdict, ...] = (),
) -> RunVerdict:
    """The verdicts of a run, from those by use; `optimistic` names the uses whose scores are."""
    more = tuple(verdict for use, verdict in found.items() if use not in ("test", "dev"))
    of_more = tuple(use for use in found if use in optimistic and use != "test")
    is_main = "test" in optimistic
    return RunVerdict(found.get("test"), found.get("dev"), is_main, more, packs, pairs, elsewhere, of_more)


def before_training(judge: Judge, base: Floats) -> Verdict:
    """The base's scores alone, from what each item gets under the model default and as it is trained (2, item)."""
    declared, same_reading = (_known(judge.score(items)) for items in base)
    return Verdict(declared, same_reading)


def judged(judge: Judge, base: Floats, exported: Floats, *, chose: bool = False) -> Verdict:
    """The verdict on what each item gets from a tuned model, against its base (2, item) under the model default.

    The second row of the base is under the layer & pooling that was trained. A set that `chose` the model has no
    verdict.
    """
    declared, same_reading = base
    before, after, same = map(judge.score, (declared, exported, same_reading))
    if chose:
        return without_test(before, after, same)
    training = None if are_alike(declared, same_reading) else Gap.of(judge.difference(same_reading, exported))
    gap = judge.difference(declared, exported)
    return Verdict.of(before, after, gap, same, training, judge.spread(declared, exported, gap))


def of_best(gap: Gap, tried: int) -> Gap:
    """The interval of the best of several, chosen by the same items: as wide as Bonferroni has it for all of them."""
    wider, middle = edge_of(tried) / edge_of(1), gap.difference
    return Gap(middle, middle - wider * (middle - gap.low), middle + wider * (gap.high - middle))


def edge_of(tried: int) -> float:
    """Standard errors from the middle to an edge of the interval of the best of several."""
    return NormalDist().inv_cdf(1 - (1 - LEVEL) / 2 / max(1, tried))


def are_alike(one: Floats, other: Floats) -> bool:
    """Whether items are equal but for rounding, as those of one model under one layer & pooling are."""
    return one.shape == other.shape and np.allclose(one, other, rtol=0, atol=ALIKE, equal_nan=True)


def _known(number: float) -> float | None:
    return number if math.isfinite(number) else None
