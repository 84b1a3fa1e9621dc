"""Predict classes by logistic regression (scikit-learn), with the regularisation chosen on other rows.

Every dimension is standardised by the training rows: layers differ in scale by orders of magnitude, and one list of C
then fits them all. C is chosen by accuracy, the smallest of equal ones: on the dev split; without one by ten folds over
the train split; without a test split by nested folds, where the C for a fold is chosen on the nine others.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from explorer.data.labelled.labelled_sets import FOLDS
from explorer.evaluating.probes import Classes, Features, ProbeData, Rows, folds
from explorer.progress import Progress, Work

STRENGTHS = (0.001, 0.01, 0.1, 1.0)  # C: a larger one regularises less
ITERATIONS = 2000
TOLERANCE = 1e-6  # at the default of 1e-4 up to 3 of 3,771 predictions differ from those of a converged fit
CONSTANT = 1e-6  # share of a dimension's mean below which its spread is rounding
STAGE = "logistic regression"


def predictions(data: ProbeData, seed: int) -> Work[Classes]:
    """The predicted class of every scored row; the seed draws the folds."""
    rows = data.train
    if data.test is None:
        return (yield from _nested(rows, seed))
    if data.dev is None:
        right = np.zeros(len(STRENGTHS), dtype=np.intp)
        for done, (inner, held) in enumerate(folds(rows.y, seed)):
            yield Progress(STAGE, done, FOLDS + 1)
            right += [(guess == rows.y[held]).sum() for (guess,) in path(rows.at(inner), [rows.x[held]])]
        yield Progress(STAGE, FOLDS, FOLDS + 1)
        ((found,),) = path(rows, [data.test.x], (STRENGTHS[_best(right)],))
        return found
    yield Progress(STAGE, 0, 1)
    on_dev, on_test = zip(*path(rows, (data.dev.x, data.test.x)), strict=True)
    chosen: Classes = on_test[_best([(guess == data.dev.y).sum() for guess in on_dev])]
    return chosen


def strength(data: ProbeData, seed: int) -> float:
    """The C that is best on the dev split, or in folds over the train split."""
    if data.dev is not None:
        (chosen,) = zip(*path(data.train, [data.dev.x]), strict=True)
        right = [(guess == data.dev.y).sum() for guess in chosen]
    else:
        held = [path(data.train.at(inner), [data.train.x[out]]) for inner, out in folds(data.train.y, seed)]
        parts = [data.train.y[out] for _, out in folds(data.train.y, seed)]
        right = [
            sum((one[at][0] == gold).sum() for one, gold in zip(held, parts, strict=True))
            for at in range(len(STRENGTHS))
        ]
    return STRENGTHS[_best(right)]


def predictions_with(data: ProbeData, seed: int, strength: float) -> Classes:
    """The predicted class of every scored row with this C; without a test split each fold from the nine others."""
    if data.test is not None:
        ((found,),) = path(data.train, [data.test.x], (strength,))
        return found
    found = np.empty(len(data.train), dtype=np.intp)
    for inner, out in folds(data.train.y, seed):
        ((found[out],),) = path(data.train.at(inner), [data.train.x[out]], (strength,))
    return found


def fits(data_has_test: bool, data_has_dev: bool) -> int:
    """How often a path over all values of C is fitted for one layer & pooling and one seed; a refit counts as one."""
    if not data_has_test:
        return FOLDS * (FOLDS - 1) // 2 + FOLDS
    return 1 if data_has_dev else FOLDS + 1


def _nested(rows: Rows, seed: int) -> Work[Classes]:
    """Predict each fold by a model of the nine others.

    A model without the folds i and j chooses C for both of them: for i by its accuracy on j, and the reverse.
    """
    parts = [test for _, test in folds(rows.y, seed)]
    right = np.zeros((len(parts), len(STRENGTHS)), dtype=np.intp)  # (fold that C is for, C)
    pairs = list(combinations(range(len(parts)), 2))
    for done, (one, other) in enumerate(pairs):
        yield Progress(STAGE, done, len(pairs) + len(parts))
        held = parts[one], parts[other]
        for place, (first, second) in enumerate(path(_without(rows, *held), [rows.x[part] for part in held])):
            right[other, place] += (first == rows.y[parts[one]]).sum()
            right[one, place] += (second == rows.y[parts[other]]).sum()
    found = np.empty(len(rows), dtype=np.intp)
    for fold, part in enumerate(parts):
        yield Progress(STAGE, len(pairs) + fold, len(pairs) + len(parts))
        ((found[part],),) = path(_without(rows, part), [rows.x[part]], (STRENGTHS[_best(right[fold])],))
    return found


def path(rows: Rows, wanted: Sequence[Features], strengths: Sequence[float] = STRENGTHS) -> list[tuple[Classes, ...]]:
    """For each C, the predictions for each of the wanted features; each fit starts from the one before."""
    from sklearn import config_context
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(rows.x)
    # a dimension that differs by rounding alone becomes 0. It is compared with its own mean: some dimensions of trained
    # models are a million times smaller than others, and count
    scaler.scale_[np.sqrt(scaler.var_) <= CONSTANT * np.abs(scaler.mean_)] = np.inf
    model = LogisticRegression(tol=TOLERANCE, warm_start=True, max_iter=ITERATIONS)
    x, others = scaler.transform(rows.x), [scaler.transform(one) for one in wanted]
    found = []
    with config_context(assume_finite=True):
        for strength in strengths:
            model.set_params(C=strength).fit(x, rows.y)
            found.append(tuple(model.predict(one) for one in others))
    return found


def _without(rows: Rows, *parts: NDArray[np.intp]) -> Rows:
    return rows.at(np.setdiff1d(np.arange(len(rows)), np.concatenate(parts)))


def _best(right: Sequence[int] | NDArray[np.intp]) -> int:
    return int(np.argmax(right))
