"""Test logistic regression on fixed vectors against plain loops over scikit-learn."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from explorer.evaluating.probes import ProbeData, Rows, logistic
from explorer.progress import finish


def _rows(count: int, classes: int = 2, seed: int = 0, noise: float = 3.0) -> Rows:
    random = np.random.default_rng(seed)
    y = np.arange(count) % classes
    x = random.normal(size=(count, 12)) * noise
    x[:, :classes] += np.eye(classes)[y] * 4
    return Rows((x * 100 + 7).astype(np.float32), y.astype(np.intp))


def _accuracy(train: Rows, places, held, strength: float) -> int:
    model = make_pipeline(StandardScaler(), LogisticRegression(C=strength, max_iter=5000))
    return (model.fit(train.x[places], train.y[places]).predict(train.x[held]) == train.y[held]).sum()


def _predicted(train: Rows, places, x, strength: float):
    model = make_pipeline(StandardScaler(), LogisticRegression(C=strength, max_iter=5000))
    return model.fit(train.x[places], train.y[places]).predict(x)


def test_nested_folds_equal_plain_loops_over_all_pairs_of_folds():
    rows = _rows(120)
    parts = [test for _, test in StratifiedKFold(10, shuffle=True, random_state=5).split(rows.x, rows.y)]
    wanted, chosen = np.empty(120, dtype=int), []
    for outer in range(10):
        right = []
        for strength in logistic.STRENGTHS:
            inner = 0
            for other in range(10):
                if other != outer:
                    rest = np.concatenate([parts[at] for at in range(10) if at not in (outer, other)])
                    inner += _accuracy(rows, np.sort(rest), parts[other], strength)
            right.append(inner)
        chosen.append(logistic.STRENGTHS[int(np.argmax(right))])
        rest = np.sort(np.concatenate([parts[at] for at in range(10) if at != outer]))
        wanted[parts[outer]] = _predicted(rows, rest, rows.x[parts[outer]], chosen[-1])
    found = finish(logistic.predictions(ProbeData(rows, None, None, 2), 5))
    assert len(set(chosen)) > 1, "the folds should not agree on C, else the test cannot fail"
    assert np.array_equal(found, wanted)


def test_folds_over_train_choose_c_for_the_test_split():
    train, test = _rows(100, 3), _rows(60, 3, seed=1)
    right = [
        sum(
            _accuracy(train, inner, held, strength)
            for inner, held in StratifiedKFold(10, shuffle=True, random_state=2).split(train.x, train.y)
        )
        for strength in logistic.STRENGTHS
    ]
    best = logistic.STRENGTHS[int(np.argmax(right))]
    found = finish(logistic.predictions(ProbeData(train, None, test, 3), 2))
    assert np.array_equal(found, _predicted(train, np.arange(100), test.x, best))


def test_a_dev_split_chooses_c_and_of_equally_good_values_the_smallest():
    train, dev, test = _rows(60), _rows(60, seed=1), _rows(200, seed=2)
    right = [(_predicted(train, np.arange(60), dev.x, c) == dev.y).sum() for c in logistic.STRENGTHS]
    best = int(np.argmax(right))
    assert len(set(right)) > 1
    found = finish(logistic.predictions(ProbeData(train, dev, test, 2), 1))
    assert np.array_equal(found, _predicted(train, np.arange(60), test.x, logistic.STRENGTHS[best]))
    train = _rows(60, noise=0.01)
    on_train = [guess for (guess,) in logistic.path(train, [train.x])]
    assert all(np.array_equal(guess, train.y) for guess in on_train)
    assert logistic._best([60, 60, 60, 59]) == 0


def _fixed(rows: Rows):
    return finish(logistic.predictions(ProbeData(rows, rows, rows, 2), 1))


def test_small_differences_and_small_dimensions_count_and_a_scale_does_not():
    y = np.repeat([0, 0, 1], 40)
    x = np.full((120, 4), 0.3, dtype=np.float32) + (1e-5 * y[:, None]).astype(np.float32)
    assert np.array_equal(_fixed(Rows(x, y)), y)
    y = np.arange(120) % 2
    x = np.random.default_rng(0).normal(size=(120, 4)).astype(np.float32)
    x[:, 0] = 1e-9 * (y - 0.5)
    assert np.array_equal(_fixed(Rows(x, y)), y)
    rows = _rows(100)
    assert (_fixed(rows) == _fixed(Rows(rows.x * np.float32(1e-4), rows.y))).mean() >= 0.98


@pytest.mark.parametrize("spread", [0.0, 2e-8])
def test_vectors_that_differ_by_rounding_alone_tell_nothing(spread):
    y = np.repeat([0, 0, 1], 40)
    x = np.full((120, 4), 0.3, dtype=np.float32) + (spread * y[:, None]).astype(np.float32)
    assert (np.ptp(x) > 0) == (spread > 0)
    assert (_fixed(Rows(x, y)) == 0).all(), "the larger class"


@pytest.mark.parametrize(("test", "dev"), [(False, False), (True, False), (True, True)])
def test_the_number_of_fits_is_known_before(test, dev, monkeypatch):
    rows, told, paths = _rows(100), [], []
    real = logistic.path
    monkeypatch.setattr(logistic, "path", lambda *given: paths.append(1) or real(*given))
    finish(logistic.predictions(ProbeData(rows, rows if dev else None, rows if test else None, 2), 1), told.append)
    assert len(paths) == logistic.fits(test, dev) == told[-1].total == told[-1].done + 1
