"""Fit the probability of a match given a cosine on dev pairs, choose thresholds there, and test both on other pairs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.errors import BadScores, TooFewRows
from explorer.knobs import Knobs, knob
from explorer.measuring.scores.bootstrap import LEVEL, RESAMPLES
from explorer.measuring.scores.correlation import SAME
from explorer.measuring.scores.judge import TOP_FIFTH, Share
from explorer.measuring.scores.metrics import F1, Curve, is_binary, why_no_score
from explorer.measuring.scores.probability_curve import CurveChoice, ProbabilityCurve, cross_validated, fitted

Floats = NDArray[np.float64]

LEAST = 20  # matches, and as many other pairs, on dev and on test: of fewer, an interval says nothing
BINS = 10  # of equal width, of the probabilities of test pairs
BEST_F1, AT_PRECISION, AT_RECALL = "best F1", "precision", "recall"
Z = NormalDist().inv_cdf((1 + LEVEL) / 2)
_GRID = 512  # cosines at which smoothed counts are known
# The best cosine of a step function jumps, and the percentiles of a bootstrap of it are those of another distribution
# (Abrevaya and Huang 2005). Counts smoothed over cosines have none of these jumps (Horowitz 1992). In simulations with
# this many standard deviations × pairs^(-1/5), intervals hold the best threshold in 95 to 97 % of samples of 200 pairs
# or more; without it in 94 to 99 %.
_WIDTH = 0.15


@dataclass(frozen=True)
class MatchOptions(Knobs):
    """What a match is, and the thresholds to choose beside that of the best F1."""

    match: float | None = knob(
        None,
        item=float,
        title="Match from gold score",
        empty="of two labels the higher one; of other scores the top fifth of their range, such as 4 of 0 to 5",
        help="Pairs with this gold score or a higher one are matches, all others are not.",
    )
    at_precision: float | None = knob(
        None,
        item=float,
        low=0.01,
        high=0.999,
        title="Threshold at precision",
        empty="none",
        help="Also choose the lowest cosine from which on this share of pairs are matches, from 0 to 1.",
    )
    at_recall: float | None = knob(
        None,
        item=float,
        low=0.01,
        high=0.999,
        title="Threshold at recall",
        empty="none",
        help="Also choose the highest cosine that finds this share of all matches, from 0 to 1.",
    )


@dataclass(frozen=True)
class ReliabilityBin:
    """Test pairs of about one probability: their mean probability, and the share of matches, with its interval."""

    pairs: int
    predicted: float
    matches: Share


@dataclass(frozen=True)
class Reliability:
    """How well the probabilities of a curve agree with the test pairs; lower is better, 0 is perfect."""

    brier: float  # the mean squared error of the probability
    error: float  # the expected calibration error: mean distance of probability and share of matches, over the bins
    bins: tuple[ReliabilityBin, ...]


@dataclass(frozen=True)
class Threshold:
    """A cosine from which on a pair is called a match, chosen on dev; None if no cosine does what is asked.

    Precision, recall and F1 are those of the test pairs. All have 95 % confidence intervals.
    """

    by: str  # what it was chosen by
    asked: float | None = None  # the precision or recall
    cosine: float | None = None
    low: float | None = None
    high: float | None = None
    precision: Share | None = None
    recall: Share | None = None
    f1: Share | None = None

    @property
    def name(self) -> str:
        """`best F1`, `precision 0.9`."""
        return self.by if self.asked is None else f"{self.by} {self.asked:g}"


@dataclass(frozen=True)
class BestF1:
    """The highest F1 of all thresholds, from 0 to 1: a pair is predicted positive from the threshold on."""

    f1: float
    threshold: float
    precision: float
    recall: float


@dataclass(frozen=True)
class PairCount:
    """Pairs, how many there are and how many of them match."""

    name: str
    pairs: int
    matches: int

    @property
    def prevalence(self) -> float:
        """The share of matches, from 0 to 1."""
        return self.matches / self.pairs


@dataclass(frozen=True, eq=False)
class Calibration:
    """Curves and thresholds of dev, and how well they do on test."""

    match: float  # the gold score from which on a pair is a match
    dev: PairCount
    test: PairCount
    curves: dict[str, ProbabilityCurve]
    reliability: dict[str, Reliability]
    choice: CurveChoice  # by dev pairs of other folds
    thresholds: tuple[Threshold, ...]
    squared: Floats  # (test pair), of the chosen curve

    @property
    def chosen(self) -> str:
        """The curve to use, by the Brier score on dev pairs of other folds."""
        return self.choice.chosen

    @property
    def curve(self) -> ProbabilityCurve:
        """The curve to use."""
        return self.curves[self.chosen]


@dataclass(frozen=True, eq=False)
class LabelledCosines:
    """The cosines of pairs under one model (pair), with their gold scores."""

    name: str
    gold: Floats
    cosines: Floats

    def matches(self, from_score: float) -> NDArray[np.bool_]:
        """Which pairs match; an error if too few do or too few do not."""
        found = self.gold >= from_score
        several = int(found.sum()), int((~found).sum())
        if min(several) < LEAST:
            raise TooFewRows(
                f"{self.name} has {len(self.gold):,} pairs: {several[0]:,} match (a gold score of {from_score:g} or "
                f"more) and {several[1]:,} do not. A probability and a threshold need at least {LEAST} of each on dev "
                f"and on test. Use a larger set, or another score for a match ({self.gold.min():g} to "
                f"{self.gold.max():g} occur)."
            )
        return found


def match_from(gold: Floats, wanted: float | None = None) -> float:
    """The gold score from which on a pair is a match: the higher one of two labels, else the top fifth of the range."""
    low, high = float(gold.min()), float(gold.max())
    if low == high:
        raise BadScores(
            f"All {len(gold):,} gold scores are {low:g}, so nothing tells a match from another pair. Use pairs with "
            "two labels or with scores that differ."
        )
    if wanted is not None:
        return wanted
    return high if is_binary(gold) else low + TOP_FIFTH * (high - low)


def calibrate(dev: LabelledCosines, test: LabelledCosines, wanted: MatchOptions | None = None) -> Calibration:
    """Fit curves and choose thresholds on dev, and test them on other pairs.

    Without a stated score, a match is found by the scores of dev.
    """
    wanted = wanted or MatchOptions()
    of_match = match_from(dev.gold, wanted.match)
    of_dev, of_test = dev.matches(of_match), test.matches(of_match)
    for one in (dev, test):
        if not np.isfinite(one.cosines).all() or np.ptp(one.cosines) == 0:
            raise BadScores(
                f"The cosines of {one.name} are all equal or not numbers, so they say nothing of a match. Choose "
                "another layer & pooling, or the precision float32."
            )
    curves, choice = fitted(dev.cosines, of_dev), cross_validated(dev.cosines, of_dev)
    found = {name: curve.at(test.cosines) for name, curve in curves.items()}
    return Calibration(
        of_match,
        PairCount(dev.name, len(of_dev), int(of_dev.sum())),
        PairCount(test.name, len(of_test), int(of_test.sum())),
        curves,
        {name: reliability(one, of_test) for name, one in found.items()},
        choice,
        tuple(_tested(one, test.cosines, of_test) for one in thresholds(dev.cosines, of_dev, wanted)),
        (found[choice.chosen] - of_test) ** 2,
    )


def reliability(probabilities: Floats, matches: NDArray[np.bool_], bins: int = BINS) -> Reliability:
    """Compare probabilities with the pairs that match, in bins of equal width."""
    inside = np.searchsorted(np.linspace(0, 1, bins + 1)[1:-1], probabilities)
    found = tuple(
        ReliabilityBin(
            int(here.sum()), float(probabilities[here].mean()), share(int(matches[here].sum()), int(here.sum()))
        )
        for here in (inside == number for number in range(bins))
        if here.any()
    )
    apart = sum(one.pairs * abs(one.predicted - one.matches.value) for one in found) / len(matches)
    return Reliability(float(((probabilities - matches) ** 2).mean()), apart, found)


def share(count: int, of: int) -> Share:
    """A share with Wilson's interval (1927)."""
    value, room = count / of, Z**2 / of
    centre = (value + room / 2) / (1 + room)
    half = Z / (1 + room) * math.sqrt(value * (1 - value) / of + room / (4 * of))
    return Share(value, max(0.0, centre - half), min(1.0, centre + half))


def _tested(chosen: Threshold, cosines: Floats, matches: NDArray[np.bool_]) -> Threshold:
    """The threshold with its precision, recall and F1 on test pairs."""
    if chosen.cosine is None:
        return chosen
    called = cosines >= chosen.cosine
    right, wrong, missed = (int(one.sum()) for one in (called & matches, called & ~matches, ~called & matches))
    # F1 rises with the share of right pairs among all that are called a match or are one, which is binomial
    of_all = share(right, right + wrong + missed)
    f1 = Share(*(2 * one / (1 + one) for one in (of_all.value, of_all.low, of_all.high)))
    precision = share(right, right + wrong) if right + wrong else None
    return Threshold(
        chosen.by,
        chosen.asked,
        chosen.cosine,
        chosen.low,
        chosen.high,
        precision,
        share(right, right + missed),
        f1,
    )


def thresholds(cosines: Floats, matches: NDArray[np.bool_], wanted: MatchOptions) -> Iterator[Threshold]:
    """The threshold of the best F1, and those that are asked for, each with its interval."""
    smooth = _SmoothCounts(cosines, matches)
    yield smooth.best_f1()
    if wanted.at_precision is not None:
        yield smooth.at_precision(wanted.at_precision)
    if wanted.at_recall is not None:
        yield at_recall(cosines[matches], wanted.at_recall)


def at_recall(of_matches: Floats, asked: float) -> Threshold:
    """The highest cosine from which on this share of matches is found; in the interval, no share differs by chance.

    A share differs if it is farther off than 1.96 standard errors of the asked one: the test of a binomial share,
    inverted, so the interval needs no resamples.
    """
    ordered, count = np.sort(of_matches)[::-1], len(of_matches)
    room = Z * math.sqrt(asked * (1 - asked) * count)
    fewest, most = math.ceil(asked * count - room), math.floor(asked * count + room)
    place = min(count, math.ceil(asked * count - 1e-9))
    low = float(ordered[most]) if most < count else -1.0  # up to the first match that would be one too many
    high = float(ordered[fewest - 1]) if fewest > 0 else 1.0
    return Threshold(AT_RECALL, asked, float(ordered[place - 1]), low, high)


class _SmoothCounts:
    """How many matches and pairs there are from each cosine of a grid on, smoothed, in the pairs and in resamples."""

    def __init__(self, cosines: Floats, matches: NDArray[np.bool_], seed: int = 0) -> None:
        from scipy.special import ndtr

        low, high = float(cosines.min()), float(cosines.max())
        self.grid = np.linspace(low, high, _GRID)
        places = np.rint((cosines - low) / (high - low) * (_GRID - 1)).astype(np.intp)
        cells = np.concatenate([np.bincount(places[side], minlength=_GRID) for side in (matches, ~matches)])
        # pairs of one cell are exchangeable, so a resample of pairs is one of cells
        some, count = np.flatnonzero(cells), len(cosines)
        drawn = np.zeros((1 + RESAMPLES, 2 * _GRID), dtype=np.float32)
        drawn[0] = cells
        drawn[1:, some] = np.random.default_rng(seed).multinomial(count, cells[some] / count, size=RESAMPLES)
        quarters = np.quantile(cosines, [0.25, 0.75])
        spread = min(float(cosines.std()), float(np.diff(quarters)[0]) / 1.34) or float(cosines.std())
        width = _WIDTH * spread * count**-0.2
        above = ndtr((self.grid[:, None] - self.grid[None, :]) / width).astype(np.float32)  # (cosine, threshold)
        self.positives = drawn[:, :_GRID].sum(axis=1, keepdims=True)
        self.true = drawn[:, :_GRID] @ above  # of the pairs, then of each resample
        self.called = self.true + drawn[:, _GRID:] @ above

    def best_f1(self) -> Threshold:
        """The threshold with the highest F1."""
        return self._chosen(BEST_F1, None, (2 * self.true / (self.called + self.positives)).argmax(axis=1))

    def at_precision(self, asked: float) -> Threshold:
        """The lowest threshold with this precision, of at least LEAST pairs that are called a match."""
        reached = (self.true >= asked * self.called) & (self.called >= LEAST)
        if not reached[0].any():
            return Threshold(AT_PRECISION, asked)
        return self._chosen(AT_PRECISION, asked, np.where(reached.any(axis=1), reached.argmax(axis=1), _GRID - 1))

    def _chosen(self, by: str, asked: float | None, places: NDArray[np.intp]) -> Threshold:
        found = self.grid[places]
        low, high = np.quantile(found[1:], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        return Threshold(by, asked, float(found[0]), float(low), float(high))


def best_threshold(gold: Floats, cosines: NDArray[Any]) -> BestF1 | None:
    """The threshold with the highest F1, the lowest of equal ones; None unless the labels have two values."""
    if why_no_score(gold, F1) or not np.ptp(cosines) > SAME:  # equal, or missing
        return None
    curve = Curve(gold, cosines)
    true, predicted = curve.counts(np.ones((len(gold), 1), dtype=np.float32))
    positives = float(true[-1, 0])
    found = 2 * true[:, 0] / (predicted[:, 0] + positives)
    at = len(found) - 1 - int(np.argmax(found[::-1]))
    return BestF1(
        float(found[at]),
        float(curve.thresholds[at]),
        float(true[at, 0] / predicted[at, 0]),
        float(true[at, 0] / positives),
    )
