"""Normalisation, cosine rounding, and Pearson's and Spearman's correlation, of pairs and of draws of them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from explorer.data.vectors.vector_corpus import unit
from explorer.encoding.load import hardware

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["ROUNDOFF", "SAME", "SAME_VECTOR", "PearsonOfDraws", "SpearmanOfDraws", "mean", "measured", "pearson"]
__all__ += ["SpearmanOfManyDraws", "ranks", "spearman", "spearman_of_draws", "unit"]

Floats = NDArray[np.float64]
Places = NDArray[np.intp]

# Vectors in float32 that differ by less than this share of their length are equal but for the rounding of a forward
# pass, which is about 1e-7 and changes with the batch a sentence is in.
SAME_VECTOR = 1e-6
# Cosines in float64 that differ by less are those of equal vectors: 1 - cos is half the squared distance. A column of
# them is constant and has no correlation. [CLS] of layer 3 of all-MiniLM-L6-v2, whose cosines are the closest that
# still rank pairs, spreads over 2e-6, which is two million times as much.
SAME = SAME_VECTOR**2
# The unit roundoff of precisions of few bits: the most, as a share of itself, by which a number is rounded. Bfloat16
# keeps 8 bits.
ROUNDOFF = {"bfloat16": 2**-8}
MANY_DRAWS = 1_000_000  # pairs × resamples from which a GPU computes; a processor takes 10 ms for a column of so many


def measured(cosines: NDArray[Any], precision: str) -> NDArray[Any]:
    """Cosines (…, pair), with NaN for columns whose order is lost in the rounding of the precision.

    Rounding moves each of two vectors by up to u of its length, u being the unit roundoff, and so puts two equal ones
    up to √2 u apart, which is a cosine of 1 - u². A column whose median, over pairs of two vectors, is no further from
    1 is missing. Constant columns stay as they are.
    """
    if precision not in ROUNDOFF:
        return cosines
    found = cosines.copy()
    for column in found.reshape(-1, found.shape[-1]):  # a view: what is written is written into `found`
        apart = column[column < 1]
        if np.ptp(column) > SAME and 1 - np.median(apart) <= ROUNDOFF[precision] ** 2:
            column[:] = np.nan
    return found


def pearson(gold: Floats, system: NDArray[Any]) -> Floats:
    """Pearson's r of `gold` (pair) with the last axis of `system` (…, pair); NaN if one is constant or missing."""
    gold = gold - gold.mean()
    varies = np.ptp(system, axis=-1) > SAME
    centred = system.astype(np.float64) - system.mean(axis=-1, keepdims=True, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        r = (centred @ gold) / np.sqrt((centred**2).sum(-1) * (gold**2).sum())
    return np.where(varies & (np.ptp(gold) > 0), r, np.nan)


def mean(gold: Floats, system: NDArray[Any]) -> Floats:
    """The mean along the last axis of `system` (…, item), which has scores of items; `gold` has no part in it."""
    return np.asarray(system.mean(axis=-1), dtype=np.float64)


def spearman(gold: Floats, system: NDArray[Any], same: float = SAME) -> Floats:
    """Spearman's ρ of `gold` (pair) with the last axis of `system` (…, pair); NaN if a side is constant or missing.

    A column that spreads over no more than `same` is constant.
    """
    varies = np.ptp(system, axis=-1) > same
    return np.where(varies, pearson(ranks(gold), ranks(system)), np.nan)


def ranks(values: NDArray[Any]) -> Floats:
    """Ranks from 1 along the last axis; ties share their average rank.

    Like scipy.stats.rankdata, whose import alone takes 0.6 s.
    """
    order = np.argsort(values, axis=-1)
    ascending = np.take_along_axis(values, order, axis=-1)
    changes = ascending[..., 1:] != ascending[..., :-1]
    edge = np.ones((*values.shape[:-1], 1), dtype=bool)
    places = np.arange(values.shape[-1])
    # ties get the mean of their first and last rank
    first = np.maximum.accumulate(np.where(np.concatenate([edge, changes], axis=-1), places, 0), axis=-1)
    ends = np.where(np.concatenate([changes, edge], axis=-1), places, len(places))
    last = np.minimum.accumulate(ends[..., ::-1], axis=-1)[..., ::-1]
    result = np.empty(values.shape)
    np.put_along_axis(result, order, (first + last) / 2 + 1, axis=-1)
    return result


def spearman_of_draws(gold: Floats, times: NDArray[np.float32]) -> Callable[[NDArray[Any]], Floats]:
    """What gives ρ on every resample, for the draws of each pair (pair, resample): a GPU in use where they are many."""
    device = hardware.gpu_in_use() if times.size >= MANY_DRAWS else ""
    if not device:
        return SpearmanOfDraws(gold, times)
    import torch

    try:
        return SpearmanOfManyDraws(gold, times, device)
    except torch.OutOfMemoryError:
        return SpearmanOfDraws(gold, times)


class SpearmanOfDraws:
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
        """The correlations (resample) of a column (pair)."""
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


class SpearmanOfManyDraws:
    """As `SpearmanOfDraws`, on a device: counts and ranks are exact in float32, their products and cubes in float64."""

    def __init__(self, gold: Floats, times: NDArray[np.float32], device: str) -> None:
        import torch

        self._given = gold, times
        self._times = torch.from_numpy(times).to(device)
        self._count = times.shape[0]
        group, drawn = self._groups(gold)
        self._drawn_gold = self._centred_ranks(drawn)[group] * self._times
        self._spread = self._spread_of(drawn)

    def __call__(self, cosines: NDArray[Any]) -> Floats:
        """The correlations (resample) of a column (pair); by the processor where the device has no room left."""
        import torch

        if not np.ptp(cosines) > SAME:  # constant, or missing
            return np.full(self._times.shape[1], np.nan)
        try:
            return self._of_column(cosines)
        except torch.OutOfMemoryError:
            return SpearmanOfDraws(*self._given)(cosines)

    def _of_column(self, cosines: NDArray[Any]) -> Floats:
        group, drawn = self._groups(cosines)
        together = self._centred_ranks(drawn).double().mul_(_sums(self._drawn_gold, group, len(drawn))).sum(0)
        found: Floats = (12 * together / (self._spread_of(drawn) * self._spread).sqrt()).cpu().numpy()
        return found

    def _groups(self, values: NDArray[Any]) -> tuple[Tensor, Tensor]:
        """The group of equal values that each pair is in, in ascending order, and the draws (group, resample)."""
        import torch

        distinct, group = torch.unique(torch.from_numpy(values).to(self._times.device), return_inverse=True)
        return group, _sums(self._times, group, len(distinct))

    def _centred_ranks(self, drawn: Tensor) -> Tensor:
        """Ranks (group, resample) minus their mean."""
        return drawn.cumsum(0).sub_(drawn, alpha=0.5).sub_(self._count / 2)

    def _spread_of(self, drawn: Tensor) -> Tensor:
        """n³ - Σ t³ (resample)."""
        spread: Tensor = self._count**3 - drawn.double().pow_(3).sum(0)
        return spread


def _sums(rows: Tensor, group: Tensor, count: int) -> Tensor:
    """The sums of the rows of each group."""
    found: Tensor = rows.new_zeros(count, rows.shape[1]).index_add_(0, group, rows)
    return found


class PearsonOfDraws:
    """r of gold with a column of cosines, on every resample at once."""

    def __init__(self, gold: Floats, times: NDArray[np.float32]) -> None:
        self._times, self._count = times.astype(np.float64), times.shape[0]
        self._gold = gold - gold.mean()

    def __call__(self, cosines: NDArray[Any]) -> Floats:
        """The correlations (resample) of a column (pair)."""
        if not np.ptp(cosines) > SAME:  # constant, or missing
            return np.full(self._times.shape[1], np.nan)
        own = cosines.astype(np.float64) - cosines.mean(dtype=np.float64)
        sums = np.stack([own, self._gold, own * own, self._gold**2, own * self._gold]) @ self._times / self._count
        with np.errstate(invalid="ignore", divide="ignore"):
            spreads = (sums[2] - sums[0] ** 2) * (sums[3] - sums[1] ** 2)
            return np.asarray((sums[4] - sums[0] * sums[1]) / np.sqrt(spreads))
