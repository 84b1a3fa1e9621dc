"""Confidence interval of a score difference, by paired bootstrap (1,000 resamples).

The paired bootstrap (Efron; Berg-Kirkpatrick, Burkett and Klein 2012): n of n pairs are drawn with replacement, both
scores are computed on them, and the 2.5th and 97.5th percentiles of the differences are the interval.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.errors import BadChoice
from explorer.measuring.scores import binary_metrics
from explorer.measuring.scores.correlation import SAME
from explorer.measuring.scores.layer_scores import MEAN, OF_LABELS, check_agreement

Floats = NDArray[np.float64]
Places = NDArray[np.intp]

RESAMPLES = 1000
LEVEL = 0.95
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
        draws.append(_drawn(gold[group], sides, metric, resamples, random))
    point, drawn = (100 * np.average(found, axis=0, weights=weights) for found in (points, draws))
    edges = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    low, high = _quantiles(drawn, edges)
    return Interval(point, low, high)


def mean_difference(one: Floats, other: Floats, *, resamples: int = RESAMPLES, seed: int = 0) -> Interval:
    """The mean of the `other` items (item) minus that of the `one`, with its interval; NaN if an item is missing."""
    gaps = other - one
    random = np.random.default_rng(seed)
    drawn = np.concatenate([gaps @ times / len(gaps) for times in _draws(len(gaps), resamples, random)])
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(np.asarray(100 * gaps.mean()), np.asarray(100 * low), np.asarray(100 * high))


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
            agree = _agreement(gold[group], times, metric)
            draws.append(np.stack([agree(system[group]) for system in systems]))
        found.append(np.concatenate(draws, axis=-1))
    return np.asarray(100 * np.average(found, axis=0, weights=weights))


def _groups(pairs: int, parts: Sequence[str], aggregate: str) -> list[NDArray[np.intp]]:
    if aggregate == "all":
        return [np.arange(pairs)]
    names = np.array(parts)
    return [np.flatnonzero(names == name) for name in dict.fromkeys(parts)]


def _drawn(
    gold: Floats, sides: tuple[NDArray[Any], ...], metric: str, resamples: int, random: np.random.Generator
) -> Floats:
    """Differences (…, resample)."""
    found = [_gap(gold, sides, times, metric) for times in _draws(len(gold), resamples, random)]
    return np.concatenate(found, axis=-1)


def _draws(count: int, resamples: int, random: np.random.Generator) -> Iterator[NDArray[np.float32]]:
    """How often each pair is drawn (pair, resample), some resamples at a time."""
    at_once = max(1, _AT_ONCE // count)
    for start in range(0, resamples, at_once):
        times = random.multinomial(count, np.full(count, 1 / count), size=min(at_once, resamples - start))
        yield np.ascontiguousarray(times.T, dtype=np.float32)


def _gap(gold: Floats, sides: tuple[NDArray[Any], ...], times: NDArray[np.float32], metric: str) -> Floats:
    """Differences (…, resample), for the number of draws of each pair (pair, resample)."""
    agree = _agreement(gold, times, metric)
    shape = sides[0].shape[:-1]
    one, other = ([agree(row) for row in side.reshape(-1, side.shape[-1])] for side in sides)
    return np.asarray(np.subtract(other, one).reshape(*shape, -1), dtype=np.float64)


def _agreement(gold: Floats, times: NDArray[np.float32], metric: str) -> Callable[[NDArray[Any]], Floats]:
    """The score (resample) of a column (pair), for the number of draws of each pair."""
    if metric in OF_LABELS:
        return lambda cosines: binary_metrics.resampled(metric, gold, cosines, times)
    if metric == MEAN:
        wide = times.astype(np.float64)
        return lambda items: np.asarray(items @ wide / len(gold))
    known: dict[str, type[_Spearman | _Pearson]] = {"Spearman": _Spearman, "Pearson": _Pearson}
    if metric not in known:
        raise BadChoice(f"There is no confidence interval of {metric}. Choose one of {', '.join(known)}.")
    return known[metric](gold, times)


class _Spearman:
    """ρ of gold with a column of cosines, on every resample at once.

    The rank of a value in a resample is the number of drawn values below it plus half of the ties, so sorting once is
    enough for all resamples. The sum of squares of n centred ranks is (n³ - Σ t³) / 12, where t are the sizes of the
    groups of ties (Kendall 1945).
    """

    def __init__(self, gold: Floats, times: NDArray[np.float32]) -> None:
        self._times, self._count = times, times.shape[0]
        self._single_cubes = _cubes(times)
        order, sizes = _ascending(gold)
        drawn = _grouped(times, order, sizes)
        group = np.empty(len(gold), dtype=np.intp)
        group[order] = np.repeat(np.arange(len(sizes)), sizes)
        self._drawn_gold = self._centred_ranks(drawn)[group] * times
        self._spread = self._spread_of(order, sizes, drawn)

    def __call__(self, cosines: NDArray[Any]) -> Floats:
        if not np.ptp(cosines) > SAME:  # constant, or missing
            return np.full(self._times.shape[1], np.nan)
        order, sizes = _ascending(cosines)
        drawn = _grouped(self._times, order, sizes)
        gold = _grouped(self._drawn_gold, order, sizes)
        together = np.einsum("gr,gr->r", self._centred_ranks(drawn), gold).astype(np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(12 * together / np.sqrt(self._spread_of(order, sizes, drawn) * self._spread))

    def _spread_of(self, order: Places, sizes: Places, drawn: NDArray[np.float32]) -> Floats:
        """n³ - Σ t³ (resample); only the ties are recomputed, which are usually few."""
        tied = sizes > 1
        members = self._times[order[np.repeat(tied, sizes)]]
        return np.asarray(self._count**3 - self._single_cubes + _cubes(members) - _cubes(drawn[tied]))

    def _centred_ranks(self, drawn: NDArray[np.float32]) -> NDArray[np.float32]:
        """Ranks (group, resample) minus their mean, which is the same for every resample."""
        ranks = drawn.copy()
        ranks[0] -= self._count / 2
        # row by row: np.cumsum down the columns takes twenty times as long
        for above, row in pairwise(list(ranks)):
            np.add(above, row, out=row)
        # the mid-rank of a group of ties
        ranks -= np.multiply(drawn, 0.5, dtype=np.float32)
        return ranks


def _ascending(values: NDArray[Any]) -> tuple[Places, Places]:
    """The order of values, and the number of each distinct value."""
    order = np.argsort(values, kind="stable")
    ascending = values[order]
    starts = np.flatnonzero(np.concatenate([[True], ascending[1:] != ascending[:-1]]))
    return order, np.diff(np.append(starts, len(values)))


def _grouped(rows: NDArray[np.float32], order: Places, sizes: Places) -> NDArray[np.float32]:
    """Sums of groups of rows, in that order."""
    starts = np.cumsum(sizes) - sizes
    sums: NDArray[np.float32] = rows[order[starts]]
    for place in np.flatnonzero(sizes > 1):  # np.add.reduceat is slower
        rows[order[starts[place] : starts[place] + sizes[place]]].sum(axis=0, out=sums[place])
    return sums


def _cubes(drawn: NDArray[np.float32]) -> Floats:
    """Σ t³ (resample) of groups, for their numbers of draws (group, resample)."""
    wide = drawn.astype(np.float64)
    return np.asarray(np.einsum("gr,gr->r", wide, wide * wide))


class _Pearson:
    """r of gold with a column of cosines, on every resample at once."""

    def __init__(self, gold: Floats, times: NDArray[np.float32]) -> None:
        self._times, self._count = times.astype(np.float64), times.shape[0]
        self._gold = gold - gold.mean()

    def __call__(self, cosines: NDArray[Any]) -> Floats:
        if not np.ptp(cosines) > SAME:  # constant, or missing
            return np.full(self._times.shape[1], np.nan)
        own = cosines.astype(np.float64) - cosines.mean(dtype=np.float64)
        sums = np.stack([own, self._gold, own * own, self._gold**2, own * self._gold]) @ self._times / self._count
        with np.errstate(invalid="ignore", divide="ignore"):
            spreads = (sums[2] - sums[0] ** 2) * (sums[3] - sums[1] ** 2)
            return np.asarray((sums[4] - sums[0] * sums[1]) / np.sqrt(spreads))


def _quantiles(drawn: Floats, edges: list[float]) -> tuple[Floats, Floats]:
    """The percentiles; resamples without a score, such as all-equal gold scores, are ignored."""
    known = np.isfinite(drawn).any(axis=-1)
    low, high = np.full(known.shape, np.nan), np.full(known.shape, np.nan)
    if known.any():
        low[known], high[known] = np.nanquantile(drawn[known], edges, axis=-1)
    return low, high
