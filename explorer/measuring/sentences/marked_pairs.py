"""Name the layer & pooling that separates pairs marked as same from pairs marked as different, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from explorer.encoding.read.pooling import Reading
from explorer.measuring.scores.bootstrap import RESAMPLES

Floats = NDArray[np.float64]
AS_MARKS = 20  # random pairs count as so many marks in the spread: few marks can be equal by chance
GUESS, HINT = 6, 20  # below the first number of marks the answer is a guess, below the second a hint
_FLAT = 1e-5  # the spread of random pairs under a layer & pooling that gives every sentence one vector


@dataclass(frozen=True)
class Mark:
    """Two sentences, and whether they have the same meaning."""

    first: str
    second: str
    same: bool


@dataclass(frozen=True, eq=False)
class Separation:
    """How each layer & pooling separates the marked pairs.

    `margin` (layer & pooling,) is the mean cosine of the same pairs minus that of the different ones, in standard
    deviations; `auc` is the share of (same, different) in which the same pair has the higher cosine. `gap` is how much
    larger the best margin is than that of the chosen layer & pooling, with the ends of its 95 % interval over resamples
    of the marks.
    """

    readings: tuple[Reading, ...]
    same: int
    different: int
    margin: Floats
    auc: Floats
    chosen: Reading
    gap: tuple[float, float, float]

    @property
    def best(self) -> Reading:
        """The layer & pooling with the largest margin."""
        return self.readings[int(np.nanargmax(self.margin))]

    def of(self, reading: Reading) -> tuple[float, float]:
        """Margin and AUC of a layer & pooling."""
        place = self.readings.index(reading)
        return float(self.margin[place]), float(self.auc[place])

    @property
    def is_guess(self) -> bool:
        """Whether there are so few marks that the answer is a guess."""
        return self.same + self.different < GUESS or min(self.same, self.different) < 2

    @property
    def could_be_chance(self) -> bool:
        """Whether the best one may be no better than the chosen one: the interval includes 0."""
        return not self.gap[1] > 0


def separation(
    readings: Sequence[Reading],
    cosines: Floats,
    same: NDArray[np.bool_],
    spread: Floats,
    chosen: Reading,
    seed: int = 0,
) -> Separation | None:
    """How cosines (layer & pooling, pair) separate both kinds of pairs; None without a pair of each kind.

    `spread` (layer & pooling,) is the standard deviation of the cosines of random pairs.
    """
    ones, others = np.flatnonzero(same), np.flatnonzero(~same)
    margins = margin_of(cosines, same, spread) if len(ones) and len(others) else np.array([np.nan])
    if np.isnan(margins).all():
        return None
    best, now = int(np.nanargmax(margins)), list(readings).index(chosen)
    random = np.random.default_rng(seed)
    gaps = []
    for _ in range(RESAMPLES):
        drawn = np.concatenate([random.choice(ones, len(ones)), random.choice(others, len(others))])
        two = margin_of(cosines[[best, now]][:, drawn], same[drawn], spread[[best, now]])
        gaps.append(two[0] - two[1])
    low, high = np.quantile(gaps, [0.025, 0.975])
    gap = (float(margins[best] - margins[now]), float(low), float(high))
    return Separation(tuple(readings), len(ones), len(others), margins, auc_of(cosines, same), chosen, gap)


def margin_of(cosines: Floats, same: NDArray[np.bool_], spread: Floats) -> Floats:
    """The difference (layer & pooling,) of the two mean cosines, in standard deviations.

    The deviation is that within the two groups and of random pairs, which count as `AS_MARKS` marks: a layer in which
    all cosines are far apart has no advantage, and neither have few marks that are equal by chance.
    """
    one, other = cosines[:, same], cosines[:, ~same]
    within = one.var(1) * one.shape[1] + other.var(1) * other.shape[1]
    deviation = np.sqrt((within + AS_MARKS * spread**2) / (len(same) + AS_MARKS))
    flat = ~(spread > _FLAT)
    return np.where(flat, np.nan, (one.mean(1) - other.mean(1)) / np.where(flat, 1, deviation))


def auc_of(cosines: Floats, same: NDArray[np.bool_]) -> Floats:
    """The share (layer & pooling,) of (same, different) in which the same pair has the higher cosine; ties are half."""
    gaps = cosines[:, same][:, :, None] - cosines[:, ~same][:, None, :]
    shares = ((gaps > 0) + 0.5 * (gaps == 0)).mean((1, 2))
    return np.where(np.isfinite(cosines).all(1), shares, np.nan)
