"""Confidence interval of a score difference, by paired bootstrap (1,000 resamples).

The paired bootstrap (Efron; Berg-Kirkpatrick, Burkett and Klein 2012): n of n pairs are drawn with replacement, both
scores are computed on them, and the 2.5th and 97.5th percentiles of the differences are the interval. Where few items
of a mean changed, hardly any resample is without the largest of them, and where nothing but chance changed 7 to 12 % of
the percentiles exclude 0. So with at most 16 changed items the interval includes 0 unless a permutation test (Fisher
1935) has p ≤ 0.05 too: if the sign of each change is drawn, at most that share of the means is as far from 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.measuring.scores.metrics import MEAN, METRICS, check_agreement

Floats = NDArray[np.float64]

RESAMPLES = 1000
LEVEL = 0.95
FEWEST = 6  # items that changed, in one direction, that a sign test tells from chance
MOST_PERMUTED = 16  # items that changed, of which every choice of signs is tried
# values (pair, resample) in memory at once
_AT_ONCE = 4_000_000


@dataclass(frozen=True, eq=False)
class Interval:
    """Differences (…) × 100 with their 95 % confidence intervals."""

    difference: Floats
    low: Floats
    high: Floats

    @property
    def sure(self) -> NDArray[np.bool_]:
        """Whether a difference is significant (its interval excludes 0); False if missing."""
        with np.errstate(invalid="ignore"):
            return np.asarray((self.low > 0) | (self.high < 0))

    def at(self, place: Any) -> Interval:
        """The differences at an index."""
        return Interval(*(np.asarray(side[place]) for side in (self.difference, self.low, self.high)))


def difference(
    gold: Floats,
    one: NDArray[Any],
    other: NDArray[Any],
    parts: Sequence[str] = (),
    metric: str = "Spearman",
    aggregate: str = "all",
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval:
    """The score of the `other` cosines (…, pair) minus that of the `one`, with intervals; NaN if a side has no score.

    If sub-corpora are averaged, pairs are drawn within each of them.
    """
    check_agreement(metric, aggregate)
    groups = _groups(len(gold), parts, aggregate)
    weights = [1.0 if aggregate != "wmean" else float(len(group)) for group in groups]
    random = np.random.default_rng(seed)
    points, draws = [], []
    for group in groups:
        sides = (one[..., group], other[..., group])
        every = np.ones((len(group), 1), dtype=np.float32)
        points.append(_gap(gold[group], sides, every, metric)[..., 0])
        every_draw = _draws(len(group), resamples, random)
        draws.append(np.concatenate([_gap(gold[group], sides, times, metric) for times in every_draw], axis=-1))
    point, drawn = (100 * np.average(found, axis=0, weights=weights) for found in (points, draws))
    edges = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    # the percentiles; resamples without a score, such as all-equal gold scores, are ignored
    known = np.isfinite(drawn).any(axis=-1)
    low, high = np.full(known.shape, np.nan), np.full(known.shape, np.nan)
    if known.any():
        low[known], high[known] = np.nanquantile(drawn[known], edges, axis=-1)
    return Interval(point, *(_unless_by_chance(other - one, low, high) if metric == MEAN else (low, high)))


def mean_difference(one: Floats, other: Floats, *, resamples: int = RESAMPLES, seed: int = 0) -> Interval:
    """The mean of the `other` items (item) minus that of the `one`, with its interval; NaN if an item is missing."""
    gaps = other - one
    random = np.random.default_rng(seed)
    drawn = np.concatenate([gaps @ times / len(gaps) for times in _draws(len(gaps), resamples, random)])
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(
        np.asarray(100 * gaps.mean()), *_unless_by_chance(gaps, np.asarray(100 * low), np.asarray(100 * high))
    )


def _unless_by_chance(gaps: NDArray[Any], low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """An interval of the mean of gaps (…, item); it includes 0 if the signs of the few that are not 0 may be chance."""
    chance = np.apply_along_axis(_may_be_chance, -1, gaps)
    return np.where(chance, np.minimum(low, 0), low), np.where(chance, np.maximum(high, 0), high)


def _may_be_chance(gaps: NDArray[Any]) -> bool:
    changed = gaps[gaps != 0]
    if len(changed) > MOST_PERMUTED:
        return False
    least = abs(changed.sum()) * (1 - 1e-9)  # sums of the same numbers differ by their rounding
    return bool(np.mean(np.abs(_signs(len(changed)) @ changed) >= least) > 1 - LEVEL)


@cache
def _signs(count: int) -> Floats:
    """Every choice of so many signs (choice, item)."""
    return np.array(list(product((1.0, -1.0), repeat=count)))


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
        for times in _draws(len(group), resamples, random):
            agree = METRICS[metric].of_draws(gold[group], times)
            draws.append(np.stack([agree(system[group]) for system in systems]))
        found.append(np.concatenate(draws, axis=-1))
    return np.asarray(100 * np.average(found, axis=0, weights=weights))


def _groups(pairs: int, parts: Sequence[str], aggregate: str) -> list[NDArray[np.intp]]:
    if aggregate == "all":
        return [np.arange(pairs)]
    names = np.array(parts)
    return [np.flatnonzero(names == name) for name in dict.fromkeys(parts)]


def _draws(count: int, resamples: int, random: np.random.Generator) -> Iterator[NDArray[np.float32]]:
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
