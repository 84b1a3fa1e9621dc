"""The smallest gain that so many items tell from chance, and how many items a gain needs.

A gain is told from chance if the interval of `bootstrap` excludes 0. The smallest gain is the one with which it does so
in 80 % of samples (Cohen 1988), if two models differ from item to item as much as these do.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from explorer.measuring.scores import bootstrap
from explorer.measuring.scores.bootstrap import ADDED, LEVEL, student
from explorer.measuring.scores.metrics import AVERAGE_PRECISION, MEAN, METRICS, SPEARMAN

Floats = NDArray[np.float64]

POWER = 0.8
MOST_ITEMS = 1_000_000
OF_PAIRS = SPEARMAN, AVERAGE_PRECISION  # metrics of scored pairs whose smallest gain was simulated
# The standard deviation × √pairs of a difference in Spearman, assumed where two models order all pairs alike: that of
# the included encoder before and after its example training (82.0 and 83.5 on STS-B test, where both orders correlate
# with 0.946), in samples of 60 and 240 pairs.
ASSUMED = 0.23
# The larger a gain in Spearman, the more differ the parts that pairs have in it: of models whose errors become smaller,
# their standard deviation is about twice the gain in simulations. With 21 pairs or fewer, the interval then grows
# as quickly as the gain.
VARIES = 2.2
# The lowest fifth of samples is further below a gain than in a normal distribution, as if the gain added more variance.
# With this factor, 76 to 84 % of simulated samples of 60 and 240 pairs tell the smallest gain.
SKEWED = 1.4
# If all changes have one size, means go by steps, so the best of the lowest fifth of samples is below the fifth of a
# normal distribution. With this part of a step, 77 to 83 % of simulated samples tell the smallest gain.
STEP = 0.25
_BELOW = NormalDist().inv_cdf(POWER)


@dataclass(frozen=True)
class Spread(ABC):
    """How much two models differ from item to item, which decides the gain that a number of items tells from chance."""

    items: int  # that were scored
    room: float  # the largest gain that there can be, from 0 to 1: what the first model lacks

    @abstractmethod
    def tells(self, gain: float, items: int) -> bool:
        """Whether 80 % of samples of so many items tell a gain, from 0 to 1, from chance."""

    def smallest_gain(self, items: int | None = None) -> float | None:
        """The gain × 100 that is told from chance, by default by its own items; None if no possible gain is."""
        count = self.items if items is None else items
        low, high = 0.0, self.room
        if not self.tells(high, count):
            return None
        while high - low > 1e-6:
            middle = (low + high) / 2
            low, high = (low, middle) if self.tells(middle, count) else (middle, high)
        return 100 * high

    def items_needed(self, gain: float) -> int | None:
        """How many items tell a gain × 100 from chance; None if it is none, or if more than a million are needed."""
        if not gain > 0 or not self.tells(gain / 100, MOST_ITEMS):
            return None
        low, high = 1, MOST_ITEMS
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.tells(gain / 100, middle) else (middle, high)
        return high


@dataclass(frozen=True)
class PairSpread(Spread):
    """Of scored pairs, for Spearman or average precision."""

    variance: float  # of the difference × pairs, without what a gain adds to it
    assumed: bool = False  # both models order all pairs alike, so it is that of `ASSUMED`

    def tells(self, gain: float, items: int) -> bool:
        """Whether 80 % of samples of so many pairs tell a gain, from 0 to 1, from chance."""
        least, below = student((1 + LEVEL) / 2, items - 1), student(POWER, items - 1)
        fixed, added = self.variance / items, VARIES**2 / items
        if least**2 * added >= 1:  # the interval grows as quickly as the gain
            return False
        smallest_shown = least * math.sqrt(fixed / (1 - least**2 * added))
        return gain - below * math.sqrt(fixed + SKEWED * added * gain**2) >= smallest_shown


@dataclass(frozen=True)
class ScoreSpread(Spread):
    """Of scores of items from 0 to 1, for their mean.

    A gain comes from items that change by as much as these did, and for the better. If even all of them together are
    less than the gain, more items change.
    """

    changed: float  # share of the items
    sizes: tuple[float, float, float]  # means of the changes that are not 0: absolute, squared, absolute cubed
    assumed: bool = False  # no item changed: those that will, by the whole range

    def tells(self, gain: float, items: int) -> bool:
        """Whether 80 % of samples of so many items tell a gain, from 0 to 1, from chance."""
        grown = max(1.0, gain / self.sizes[0])  # if all items have to change by more
        size, square, cube = (grown**power * mean for power, mean in enumerate(self.sizes, start=1))
        changed = min(1.0, max(self.changed, gain / size))
        variance = changed * square - gain**2
        mean = gain - _BELOW * math.sqrt(max(0.0, variance) / items)
        if math.isclose(square, size**2):
            mean -= STEP * size / items
        if mean <= 0:
            return False
        # a sample with this mean, one of five that are the lowest, has fewer changes, or smaller ones
        moment = changed * square
        if variance > 0:
            moment -= (gain * cube / size - moment * gain) / variance * (gain - mean)
        moment = max(moment, mean**2)
        unchanged = max(0.0, 1 - moment / square)
        added = (items * moment + unchanged) / (items * (1 - unchanged) + unchanged)
        count = items + ADDED
        centre = items * mean / count
        error = math.sqrt(max(0.0, (items * moment + ADDED * added) / count - centre**2) / count)
        return centre > student((1 + LEVEL) / 2, items - 1) * error


def spread(
    gold: Floats, one: Floats, other: Floats, gap: bootstrap.Interval, way: tuple[str, str]
) -> PairSpread | ScoreSpread | None:
    """The spread of a difference by a metric and an aggregation; None if it is not known for them."""
    if way == (MEAN, "all"):
        return of_items(one, other)
    metric, aggregate = way
    return of_pairs(gold, one, gap, metric) if metric in OF_PAIRS and aggregate == "all" else None


def of_items(one: Floats, other: Floats) -> ScoreSpread | None:
    """The spread of scores (item) from 0 to 1 under two models; None if one is missing."""
    gaps = np.abs(other - one)
    if not np.isfinite(gaps).all():
        return None
    changes, room = gaps[gaps > 0], 1 - float(one.mean())
    if not len(changes):
        return ScoreSpread(len(gaps), room, 0.0, (1.0, 1.0, 1.0), assumed=True)
    size, square, cube = (float((changes**power).mean()) for power in (1, 2, 3))
    return ScoreSpread(len(gaps), room, len(changes) / len(gaps), (size, square, cube))


def of_pairs(gold: Floats, one: Floats, gap: bootstrap.Interval, metric: str = SPEARMAN) -> PairSpread | None:
    """The spread of a difference in a metric to the `one` cosines (pair); None if a side has no score."""
    if gap.error is None or not math.isfinite(gap.error):
        return None
    difference, error = float(gap.difference) / 100, float(gap.error) / 100
    room = 1 - float(METRICS[metric].of_pairs(gold, one))
    if error == 0:
        return PairSpread(len(gold), room, ASSUMED**2, assumed=True)
    variance = len(gold) * error**2
    return PairSpread(len(gold), room, max(variance - (VARIES * difference) ** 2, variance / 4))
