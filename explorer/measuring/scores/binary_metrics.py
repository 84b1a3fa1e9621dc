"""Score cosines against labels of two values: average precision, and the best F1 with its threshold.

Equal cosines are one threshold, as in scikit-learn's precision_recall_curve and average_precision_score.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Places = NDArray[np.intp]
OfColumn = Callable[[NDArray[Any]], Floats]
Measure = Callable[[Floats, Floats], Floats]  # of true and predicted positives (threshold, resample)

AVERAGE_PRECISION, F1 = "average precision", "F1"


@dataclass(frozen=True)
class BestF1:
    """The highest F1 of all thresholds, from 0 to 1: a pair is predicted positive from the threshold on."""

    f1: float
    threshold: float
    precision: float
    recall: float


def is_binary(gold: Floats) -> bool:
    """Whether gold scores have two values: the higher one is the positive class."""
    return len(np.unique(gold)) == 2


def average_precision(gold: Floats, system: NDArray[Any]) -> Floats:
    """The sum over thresholds of precision times the gain in recall, along the last axis of `system` (…, pair).

    NaN unless the labels have two values, and where a cosine is missing.
    """
    return _along(gold, system, _average_precision)


def best_f1(gold: Floats, system: NDArray[Any]) -> Floats:
    """The highest F1 of all thresholds, along the last axis of `system` (…, pair); NaN as for average precision."""
    return _along(gold, system, _f1)


def best_threshold(gold: Floats, cosines: NDArray[Any]) -> BestF1 | None:
    """The threshold with the highest F1, the lowest of equal ones; None unless the labels have two values."""
    if not is_binary(gold) or np.isnan(cosines).any():
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


class Curve:
    """The counts at every threshold of a column of cosines, from the highest on, for any number of resamples."""

    def __init__(self, gold: Floats, cosines: NDArray[Any]) -> None:
        self._order = np.argsort(-cosines, kind="stable")
        ordered = cosines[self._order]
        self._ends = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))
        self.thresholds: Floats = np.asarray(ordered[self._ends], dtype=np.float64)
        self._positive = (gold == gold.max())[self._order]

    def counts(self, times: NDArray[np.float32]) -> tuple[Floats, Floats]:
        """True positives and predicted positives (threshold, resample), each pair drawn so many `times`."""
        # cumulated along rows: down the columns it takes twenty times as long
        drawn = np.ascontiguousarray(times[self._order].T, dtype=np.float64)
        predicted = np.cumsum(drawn, axis=1)[:, self._ends].T
        true = np.cumsum(drawn * self._positive, axis=1)[:, self._ends].T
        return true, predicted


def average_precision_of_draws(gold: Floats, times: NDArray[np.float32]) -> OfColumn:
    """The average precision of a column (resample) on draws of the pairs; NaN where no pair is positive."""
    return lambda cosines: _of_draws(gold, cosines, times, _average_precision)


def best_f1_of_draws(gold: Floats, times: NDArray[np.float32]) -> OfColumn:
    """The highest F1 of a column (resample) on draws of the pairs; NaN where no pair is positive."""
    return lambda cosines: _of_draws(gold, cosines, times, _f1)


def _of_draws(gold: Floats, cosines: NDArray[Any], times: NDArray[np.float32], measure: Measure) -> Floats:
    if not is_binary(gold) or np.isnan(cosines).any():
        return np.full(times.shape[1], np.nan)
    return measure(*Curve(gold, cosines).counts(times))


def _average_precision(true: Floats, predicted: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        precision = np.where(predicted > 0, true / predicted, 0.0)
        gains = np.diff(true, axis=0, prepend=0.0)
        return np.asarray((precision * gains).sum(axis=0) / true[-1])


def _f1(true: Floats, predicted: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        found = (2 * true / (predicted + true[-1])).max(axis=0)
    return np.asarray(np.where(true[-1] > 0, found, np.nan))


def _along(gold: Floats, system: NDArray[Any], measure: Measure) -> Floats:
    shape = system.shape[:-1]
    if not is_binary(gold):
        return np.full(shape, np.nan)
    once = np.ones((len(gold), 1), dtype=np.float32)
    columns = system.reshape(-1, system.shape[-1])
    found = [np.nan if np.isnan(one).any() else float(measure(*Curve(gold, one).counts(once))[0]) for one in columns]
    return np.array(found).reshape(shape)
