"""Compare a tuned model, as exported, with its base: three scores, the difference and its confidence interval.

The base is scored twice: under its model default, and under the layer & pooling that was trained. The difference is to
the first; the second shows how much of it is due to training.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from explorer.measuring.scores.judge import Judge
from explorer.measuring.scores.meaning_judges import PackChange, PairChange

Floats = NDArray[np.float64]
Kept = TypeVar("Kept")


@dataclass(frozen=True, eq=False)
class BaseItems:
    """What each item of an evaluation set gets from the base under its model default, and as it is trained."""

    declared: Floats
    same_reading: Floats


@dataclass(frozen=True)
class Outcome:
    """Scores × 100 on one evaluation set; what was not measured, or has no score, is None."""

    declared_base: float | None = None
    same_reading_base: float | None = None
    exported: float | None = None
    difference: float | None = None  # exported less declared base
    low: float | None = None  # the 95 % interval of the difference, paired bootstrap
    high: float | None = None


@dataclass(frozen=True)
class Verdict:
    """The results of a run on its test sets and on its dev set."""

    test: Outcome | None = None
    dev: Outcome | None = None
    optimistic: bool = False  # the training text holds sentences of a test set
    more: tuple[Outcome, ...] = ()  # on further test sets
    packs: tuple[PackChange, ...] = ()  # of the base under its model default and the exported model, if held out
    pairs: tuple[PairChange, ...] = ()  # of these packs, to show what changed

    @property
    def by_use(self) -> dict[str, Outcome]:
        """The outcomes that there are, by use: test, test 2 and so on, dev."""
        every = by_use(self.dev, (self.test, *self.more))
        return {use: found for use, found in every.items() if found is not None}

    def as_json(self) -> dict[str, Any]:
        """The verdict for status.json, the output of `train` and the model card."""
        lists = ("more", "packs", "pairs")
        return {name: list(value) if name in lists else value for name, value in asdict(self).items()}


def test_uses(count: int) -> tuple[str, ...]:
    """The names of so many test sets: test, test 2 and so on."""
    return ("test", *(f"test {number}" for number in range(2, count + 1)))[:count]


def by_use(dev: Kept, tests: Sequence[Kept]) -> dict[str, Kept]:
    """Something of each evaluation set, by use: of the test sets, then of the dev set."""
    return {**dict(zip(test_uses(len(tests)), tests, strict=True)), "dev": dev}


def of_uses(
    found: Mapping[str, Outcome],
    optimistic: bool,
    packs: tuple[PackChange, ...] = (),
    pairs: tuple[PairChange, ...] = (),
) -> Verdict:
    """The verdict of outcomes by use."""
    more = tuple(outcome for use, outcome in found.items() if use not in ("test", "dev"))
    return Verdict(found.get("test"), found.get("dev"), optimistic, more, packs, pairs)


def base_outcome(judge: Judge, base: BaseItems) -> Outcome:
    """The base's scores, before training."""
    return Outcome(_known(judge.score(base.declared)), _known(judge.score(base.same_reading)))


def outcome(judge: Judge, base: BaseItems, exported: Floats) -> Outcome:
    """All three scores, and the difference of the tuned model to its base (model default), with its interval."""
    before = base_outcome(judge, base)
    gap = judge.difference(base.declared, exported)
    return Outcome(
        before.declared_base,
        before.same_reading_base,
        _known(judge.score(exported)),
        *(_known(float(number)) for number in (gap.difference, gap.low, gap.high)),
    )


def _known(number: float) -> float | None:
    return number if math.isfinite(number) else None
