"""Confidence interval of a score difference on the same items: by paired bootstrap, and for few items by its variance.

The paired bootstrap (Efron; Berg-Kirkpatrick, Burkett and Klein 2012): n of n pairs are drawn with replacement, both
scores are computed on them, and the 2.5th and 97.5th percentiles of 1,000 differences are the interval. Of few items it
holds the true difference too often or too rarely. There the interval is one by Student's t:

- of Spearman and Pearson, with the standard error of the jackknife, which is rather too large. A part of the variance
  is of couples of pairs; the jackknife counts twice as much of it as there is, and the bootstrap three times as much
  (Efron and Stein 1981). So twice the first variance less the second has no bias, and an end excludes 0 if it does so
  with that. The other end keeps the larger one, because the variance grows with the difference;
- of a mean of items from 0 to 1, after two items are added: one that gained and one that lost as much as those that
  changed did (Bonett and Price 2012, for changes of 1). Without them, few changes vary too little, and none not at all;
- of a mean of other numbers, that of their differences.

From FEW to MANY items (for a mean: items that changed) the percentiles gradually replace it. `make bench
ARGS=coverage` measures how often the intervals hold the true difference.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.measuring.scores.metrics import DISTINGUISHED, MEAN, METRICS, agreement, check_agreement, couples

Floats = NDArray[np.float64]

RESAMPLES = 1000
LEVEL = 0.95
FEWEST = 6  # items that changed, in one direction, that can be told from chance
FEW, MANY = 250, 500  # up to so many items by the variance, from so many on by percentiles
ADDED = 2  # items that are added to a mean
MIDDLE = 0.5  # of what items get, from 0 to 1: the interval of a mean is that of its difference to it
# values (pair, resample) in memory at once
_AT_ONCE = 1_000_000
_RANGE = 200  # × 100, of correlations, from -1 to 1


@dataclass(frozen=True, eq=False)
class Interval:
    """Differences (…) × 100 with their 95 % confidence intervals."""

    difference: Floats
    low: Floats
    high: Floats
    error: Floats | None = None  # the standard error; None of a mean, whose items give it

    @property
    def sure(self) -> NDArray[np.bool_]:
        """Whether a difference is significant (its interval excludes 0); False if missing."""
        with np.errstate(invalid="ignore"):
            return np.asarray((self.low > 0) | (self.high < 0))

    def at(self, place: Any) -> Interval:
        """The differences at an index."""
        difference, low, high = (np.asarray(side[place]) for side in (self.difference, self.low, self.high))
        return Interval(difference, low, high, None if self.error is None else np.asarray(self.error[place]))


def difference(
    gold: Floats,
    one: NDArray[Any],
    other: NDArray[Any],
    parts: Sequence[str] = (),
    metric: str = "Spearman",
    aggregate: str = "all",
    *,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval:
    """The score of the `other` cosines (…, pair) minus that of the `one`, with intervals; NaN if a side has no score.

    If sub-corpora are averaged, pairs are drawn within each of them. The intervals hold the true difference with the
    probability `level`.
    """
    check_agreement(metric, aggregate)
    if metric == MEAN:
        return _of_gaps(np.subtract(other, one, dtype=np.float64), 1.0, level, resamples, seed)
    if metric == DISTINGUISHED:
        return _of_couples(gold, one, other, level, resamples, seed)
    drawn = _drawn(gold, one, other, parts, metric, aggregate, resamples, seed)
    low, high = drawn.percentiles(level)
    if METRICS[metric].smooth and len(gold) < MANY:
        ends = zip(drawn.by_variance(level), (low, high), strict=True)
        low, high = (_mixed(few, many, _share(np.asarray(len(gold)))) for few, many in ends)
    return Interval(drawn.point, low, high, np.sqrt(drawn.variances()[0]))


def couple_ends(
    gaps: Floats, outside: float = 1 - LEVEL, resamples: int = RESAMPLES, seed: int = 0
) -> tuple[float, float]:
    """The interval of the mean of couples (pair, other pair) that leaves this share of the resamples outside.

    Pairs of either side are resampled, and not couples: those that have a pair in common are not independent.
    """
    random = np.random.default_rng(seed)
    one, other = (random.multinomial(size, [1 / size] * size, resamples) for size in gaps.shape)
    drawn = ((one @ gaps) * other).sum(axis=1) / gaps.size
    low, high = np.quantile(drawn, [outside / 2, 1 - outside / 2])
    return float(low), float(high)


def _of_couples(
    gold: Floats, one: NDArray[Any], other: NDArray[Any], level: float, resamples: int, seed: int
) -> Interval:
    """The differences in the share of couples in the right order, of cosines (…, pair), with their intervals."""
    found = []
    for sides in zip(one.reshape(-1, len(gold)), other.reshape(-1, len(gold)), strict=True):
        if np.isnan(sides).any():
            found.append((np.nan,) * 3)
            continue
        before, after = (couples(gold, side) for side in sides)
        found.append((float((after - before).mean()), *couple_ends(after - before, 1 - level, resamples, seed)))
    point, low, high = (100 * np.reshape(side, one.shape[:-1]) for side in zip(*found, strict=True))
    return Interval(point, low, high)


def mean_difference(
    one: Floats, other: Floats, *, most: float = 1.0, resamples: int = RESAMPLES, seed: int = 0
) -> Interval:
    """The mean of the `other` items (item) minus that of the `one`, with its interval; NaN if an item is missing.

    An item changes by at most `most`, which is 1 for scores. It is 0 for numbers of which none stays as it is if the
    models differ, such as cosines.
    """
    return _of_gaps(other - one, most, LEVEL, resamples, seed)


def mean_ends(items: Floats) -> tuple[float, float] | None:
    """The interval of the mean × 100 of items from 0 to 1; None if one is missing.

    It is that of the difference to a model that gets the middle for every item.
    """
    if not len(items) or not np.isfinite(items).all():
        return None
    found = mean_difference(np.full_like(items, MIDDLE), items, most=MIDDLE)
    low, high = (100 * MIDDLE + float(end) for end in (found.low, found.high))
    return max(0.0, low), min(100.0, high)


def agreement_ends(
    gold: Floats, cosines: Floats, parts: Sequence[str] = (), metric: str = "Spearman", aggregate: str = "all"
) -> tuple[float, float] | None:
    """The interval of a score × 100 of cosines (pair): the middle 95 % of its resamples; None if it has no score."""
    point = 100 * float(agreement(gold, cosines, parts, metric, aggregate))
    draws = resampled(gold, cosines[None], parts, metric, aggregate)[0] if math.isfinite(point) else np.empty(0)
    draws = draws[np.isfinite(draws)]  # a resample of few pairs may have one gold score alone
    if not len(draws):
        return None
    low, high = np.quantile(draws, edges(LEVEL))
    return min(float(low), point), max(float(high), point)


def student(share: float, freedom: float) -> float:
    """The quantile of Student's t with these degrees of freedom, at least 1; of endless ones the normal quantile."""
    from scipy.special import stdtrit

    return NormalDist().inv_cdf(share) if math.isinf(freedom) else float(stdtrit(max(1, freedom), share))


def _added_size(gaps: Floats, most: float) -> Floats:
    """By how much an added item gains or loses: the root mean square of the gaps (…, item) that are not 0.

    The fewer changed, the more it is `most`: if none did, it is that alone.
    """
    changed = (gaps != 0).sum(axis=-1)
    unchanged = 1 - changed / gaps.shape[-1]
    return np.asarray(np.sqrt(((gaps**2).sum(axis=-1) + unchanged * most**2) / (changed + unchanged)))


def edges(level: float) -> tuple[float, float]:
    """The quantiles between which a share of this size is."""
    return (1 - level) / 2, (1 + level) / 2


def _of_gaps(gaps: Floats, most: float, level: float, resamples: int, seed: int) -> Interval:
    """The means of gaps (…, item) with their intervals."""
    count = gaps.shape[-1]
    point, square, added = gaps.mean(axis=-1), (gaps**2).sum(axis=-1), ADDED if most else 0
    centre = gaps.sum(axis=-1) / (count + added)
    if most:
        variance = (square + added * _added_size(gaps, most) ** 2) / (count + added) - centre**2
    else:
        variance = gaps.var(axis=-1, ddof=1) if count > 1 else np.full(point.shape, np.nan)
    half = student(edges(level)[1], count - 1) * np.sqrt(np.maximum(variance, 0) / (count + added))
    reach = most or np.inf
    low, high = (np.asarray(np.clip(centre + side * half, -reach, reach)) for side in (-1, 1))
    share = _share((gaps != 0).sum(axis=-1))
    many = share > 0
    if many.any():
        random = np.random.default_rng(seed)
        drawn = [gaps[many] @ times / count for times in draw_counts(count, resamples, random)]
        percentiles = np.quantile(np.concatenate(drawn, axis=-1), edges(level), axis=-1)
        for end, percentile in zip((low, high), percentiles, strict=True):
            end[many] = _mixed(end[many], percentile, share[many])
    return Interval(np.asarray(100 * point), 100 * low, 100 * high)


@dataclass(frozen=True, eq=False)
class _Drawn:
    """Differences (…) × 100, those of resamples (…, resample), and their variances by jackknife (…), NaN if unknown."""

    point: Floats
    resamples: Floats
    jackknife: Floats
    freedom: int  # degrees of freedom: pairs less sub-corpora

    def percentiles(self, level: float) -> tuple[Floats, Floats]:
        """The ends of the interval by percentiles."""
        low, high = self._known(lambda drawn: np.nanquantile(drawn, edges(level), axis=-1), 2)
        return low, high

    def variances(self) -> tuple[Floats, Floats]:
        """The variance without bias, and that of the jackknife."""
        (drawn,) = self._known(lambda drawn: np.nanvar(drawn, axis=-1)[None], 1)
        jackknife = np.where(np.isfinite(self.jackknife), np.maximum(self.jackknife, drawn / 2), drawn)
        return np.clip(2 * jackknife - drawn, jackknife / 2, jackknife), jackknife

    def by_variance(self, level: float) -> tuple[Floats, Floats]:
        """The ends of the interval by Student's t."""
        quantile = student(edges(level)[1], self.freedom)
        near, far = (quantile * np.sqrt(variance) for variance in self.variances())
        low = self.point - np.where(self.point > near, near, far)
        high = self.point + np.where(self.point < -near, near, far)
        return np.clip(low, -_RANGE, _RANGE), np.clip(high, -_RANGE, _RANGE)

    def _known(self, of_resamples: Callable[[Floats], Floats], count: int) -> Floats:
        """So many numbers of the resamples that have a score (number, …); NaN where none has, or not the difference."""
        # resamples without a score, such as all-equal gold scores, are ignored
        known = np.isfinite(self.resamples).any(axis=-1) & np.isfinite(self.point)
        found = np.full((count, *known.shape), np.nan)
        if known.any():
            found[:, known] = of_resamples(self.resamples[known])
        return found


def _drawn(
    gold: Floats,
    one: NDArray[Any],
    other: NDArray[Any],
    parts: Sequence[str],
    metric: str,
    aggregate: str,
    resamples: int,
    seed: int,
) -> _Drawn:
    """The differences of all pairs, of resamples, and, of few pairs, of all but one."""
    groups = _groups(len(gold), parts, aggregate)
    weights = np.array([1.0 if aggregate != "wmean" else float(len(group)) for group in groups])
    random = np.random.default_rng(seed)
    points, draws, variances = [], [], []
    for group in groups:
        sides = (one[..., group], other[..., group])
        every = np.ones((len(group), 1), dtype=np.float32)
        points.append(_gap(gold[group], sides, every, metric)[..., 0])
        every_draw = draw_counts(len(group), resamples, random)
        draws.append(np.concatenate([_gap(gold[group], sides, times, metric) for times in every_draw], axis=-1))
        unknown = np.full(points[-1].shape, np.nan)
        few = METRICS[metric].smooth and len(gold) < MANY
        variances.append(_jackknife(gold[group], sides, metric) if few else unknown)
    point, drawn = (100 * np.average(found, axis=0, weights=weights) for found in (points, draws))
    jackknife = 100**2 * np.tensordot((weights / weights.sum()) ** 2, np.stack(variances), axes=1)
    return _Drawn(point, drawn, np.asarray(jackknife), len(gold) - len(groups))


def _jackknife(gold: Floats, sides: tuple[NDArray[Any], ...], metric: str) -> Floats:
    """The variance of a difference (…) from those without each pair in turn, all others weighing the more for it."""
    count = len(gold)
    others = np.float32(count / max(1, count - 1)) * (1 - np.eye(count, dtype=np.float32))
    gaps = _gap(gold, sides, others, metric)
    return np.asarray((count - 1) * gaps.var(axis=-1))


def _share(items: NDArray[Any]) -> Floats:
    """How much of an interval is from percentiles: none of few items, all of many."""
    return np.asarray(np.clip((items - FEW) / (MANY - FEW), 0, 1))


def _mixed(few: Floats, many: Floats, share: Floats) -> Floats:
    return np.asarray((1 - share) * few + share * many)


def resampled(
    gold: Floats,
    systems: NDArray[Any],
    parts: Sequence[str] = (),
    metric: str = "Spearman",
    aggregate: str = "all",
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Floats:
    """The scores × 100 of several systems' cosines (system, pair) on the same resamples: (system, resample)."""
    check_agreement(metric, aggregate)
    groups = _groups(len(gold), parts, aggregate)
    weights = [1.0 if aggregate != "wmean" else float(len(group)) for group in groups]
    random = np.random.default_rng(seed)
    found = []
    for group in groups:
        draws = []
        for times in draw_counts(len(group), resamples, random):
            agree = METRICS[metric].of_draws(gold[group], times)
            draws.append(np.stack([agree(system[group]) for system in systems]))
        found.append(np.concatenate(draws, axis=-1))
    return np.asarray(100 * np.average(found, axis=0, weights=weights))


def _groups(pairs: int, parts: Sequence[str], aggregate: str) -> list[NDArray[np.intp]]:
    if aggregate == "all":
        return [np.arange(pairs)]
    names = np.array(parts)
    return [np.flatnonzero(names == name) for name in dict.fromkeys(parts)]


def draw_counts(count: int, resamples: int, random: np.random.Generator) -> Iterator[NDArray[np.float32]]:
    """How often each pair is drawn (pair, resample), some resamples at a time."""
    at_once = max(1, _AT_ONCE // count)
    for start in range(0, resamples, at_once):
        times = random.multinomial(count, np.full(count, 1 / count), size=min(at_once, resamples - start))
        yield np.ascontiguousarray(times.T, dtype=np.float32)


def _gap(gold: Floats, sides: tuple[NDArray[Any], ...], times: NDArray[np.float32], metric: str) -> Floats:
    """Differences (…, resample), for the number of draws of each pair (pair, resample)."""
    agree = METRICS[metric].of_draws(gold, times)
    shape = sides[0].shape[:-1]
    one, other = ([agree(row) for row in side.reshape(-1, side.shape[-1])] for side in sides)
    return np.asarray(np.subtract(other, one).reshape(*shape, -1), dtype=np.float64)
