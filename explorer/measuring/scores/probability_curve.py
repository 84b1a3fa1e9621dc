"""Fit the probability of a match given a cosine, and choose by cross-validation how it is fitted.

It is fitted twice: by isotonic regression (Zadrozny and Elkan 2002), and by logistic regression with Platt's targets
(1999), which stays finite where the cosines separate the matches from all other pairs. Which one is used is chosen by
the Brier score on dev pairs that it was not fitted to, in five folds. A rule by the number of pairs, such as isotonic
from 1,000 rows on, takes the worse one where cosines follow a logistic curve.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ISOTONIC, LOGISTIC = "isotonic", "logistic"
FOLDS, SEED = 5, 0  # of dev pairs, and what draws them


@dataclass(frozen=True)
class ProbabilityCurve:
    """The probability of a match by cosine: linear between these points, and constant before and after them."""

    cosines: tuple[float, ...]
    probabilities: tuple[float, ...]

    def at(self, cosines: Floats | float) -> Floats:
        """The probability of a match at each cosine, from 0 to 1."""
        return np.asarray(np.interp(cosines, self.cosines, self.probabilities))


def fitted(cosines: Floats, matches: NDArray[np.bool_]) -> dict[str, ProbabilityCurve]:
    """Both curves."""
    return {ISOTONIC: isotonic(cosines, matches), LOGISTIC: logistic(cosines, matches)}


@dataclass(frozen=True)
class CurveChoice:
    """The Brier score of each curve on dev pairs of other folds, and the standard error of their difference."""

    scores: dict[str, float]
    error: float

    @property
    def chosen(self) -> str:
        """The isotonic curve if it is better by more than one standard error (Breiman and others 1984).

        Else it is the logistic one, which has two parameters.
        """
        return ISOTONIC if self.scores[LOGISTIC] - self.scores[ISOTONIC] > self.error else LOGISTIC


def cross_validated(cosines: Floats, matches: NDArray[np.bool_]) -> CurveChoice:
    """Score each curve on pairs that it was not fitted to, with as many matches in each fold."""
    random = np.random.default_rng(SEED)
    folds = np.empty(len(matches), dtype=np.intp)
    for side in (matches, ~matches):
        folds[random.permutation(np.flatnonzero(side))] = np.arange(int(side.sum())) % FOLDS
    squared = {name: np.empty(len(matches)) for name in (ISOTONIC, LOGISTIC)}
    for fold in range(FOLDS):
        out = folds == fold
        for name, curve in fitted(cosines[~out], matches[~out]).items():
            squared[name][out] = (curve.at(cosines[out]) - matches[out]) ** 2
    gaps = squared[LOGISTIC] - squared[ISOTONIC]
    scores = {name: float(each.mean()) for name, each in squared.items()}
    return CurveChoice(scores, float(gaps.std(ddof=1)) / len(gaps) ** 0.5)


def isotonic(cosines: Floats, matches: NDArray[np.bool_]) -> ProbabilityCurve:
    """The rising step function with the least squared error, by pool adjacent violators; linear between the steps."""
    from scipy.optimize import isotonic_regression

    places, inverse, counts = np.unique(cosines, return_inverse=True, return_counts=True)
    shares = np.bincount(inverse, matches) / counts
    fitted = np.asarray(isotonic_regression(shares, weights=counts).x)
    # the first and the last cosine of each step
    ends = np.ones(len(fitted), dtype=bool)
    ends[1:-1] = (fitted[1:-1] != fitted[:-2]) | (fitted[1:-1] != fitted[2:])
    return ProbabilityCurve(tuple(places[ends].tolist()), tuple(fitted[ends].tolist()))


def logistic(cosines: Floats, matches: NDArray[np.bool_]) -> ProbabilityCurve:
    """The logistic function with the highest likelihood of Platt's targets, at steps of 0.005 from -1 to 1."""
    positives = int(matches.sum())
    targets = np.where(matches, (positives + 1) / (positives + 2), 1 / (len(matches) - positives + 2))
    centre, scale = float(cosines.mean()), float(cosines.std())
    rows = np.column_stack([(cosines - centre) / scale, np.ones(len(cosines))])
    weights = np.zeros(2)

    def loss(weights: Floats) -> float:
        scores = rows @ weights
        return float((np.logaddexp(0, scores) - targets * scores).sum())

    for _ in range(100):  # Newton's method, with half the step as long as that is better
        found = _sigmoid(rows @ weights)
        gradient = rows.T @ (found - targets)
        curvature = rows.T @ (rows * (found * (1 - found))[:, None]) + 1e-12 * np.eye(2)
        step = np.linalg.solve(curvature, gradient)
        before = loss(weights)
        while loss(weights - step) > before and np.abs(step).max() > 1e-12:
            step /= 2
        weights = weights - step
        if np.abs(step).max() < 1e-10:
            break
    places = np.linspace(-1, 1, 401)
    probabilities = _sigmoid((places - centre) / scale * weights[0] + weights[1])
    return ProbabilityCurve(tuple(places.round(6).tolist()), tuple(probabilities.tolist()))


def _sigmoid(scores: Floats) -> Floats:
    return np.asarray(np.exp(-np.logaddexp(0, -scores)))
