"""Test probes on fixed vectors, logistic regression and SentEval's classifier, against plain loops."""

from dataclasses import asdict

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn

from explorer.evaluating.probes import ProbeData, Rows, logistic, senteval
from explorer.evaluating.probes.senteval import Network, TrainedNetwork, first_weights, trained
from explorer.progress import Progress, finish
from tests.independent import senteval_loops


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


TOLD = Progress("training", 0, 1)
# few passes and a small layer, so that the slow reference takes seconds
QUICK = Network(hidden=4, rate=1e-2, batch=32, tenacity=1, epoch_size=1, max_epoch=2)
SLOW = asdict(QUICK)


def _made(count: int, classes: int = 2, seed: int = 0, width: int = 8) -> Rows:
    """Classes that overlap, in float64, so that both implementations take the same decisions."""
    random = np.random.default_rng(seed)
    y = random.integers(0, classes, count)
    x = random.normal(size=(count, width))
    x[:, :classes] += 1.5 * np.eye(classes)[y]
    return Rows(x, y)


def _evaluations(accuracies) -> tuple[int, int]:
    """How many evaluations and passes a training has whose dev accuracies are these."""
    rule, network, passes = TrainedNetwork(5), Network(), 0
    for accuracy in accuracies:
        if rule.stopped or passes > network.max_epoch:
            break
        passes += network.epoch_size
        rule.improved(accuracy)
    return rule.evaluations, passes


def test_a_training_stops_after_evaluations_without_improvement_or_after_200_passes():
    assert _evaluations([0.5] * 99) == (7, 28)
    assert _evaluations([at / 99 for at in range(99)]) == (51, 204)
    falls_then_rises = [at / 99 - (at % 2) / 33 for at in range(99)]  # every second one is worse
    assert _evaluations(falls_then_rises) == (12, 48)


@pytest.mark.parametrize(("improves", "evaluations"), [(False, 7), (True, 51)])
def test_a_training_follows_the_rule(improves, evaluations, monkeypatch):
    told, steps = [], []
    given = iter(range(99))
    accuracies = lambda weights, *_: [next(given) / 99 if improves else 0.5] * len(weights[0])  # noqa: E731
    monkeypatch.setattr(senteval, "_accuracies", accuracies)
    monkeypatch.setattr(senteval._Group, "update", lambda *_: steps.append(1))
    found = finish(trained(_made(20), _made(20), 2, (1e-5, 1e-2), 1, TOLD), told.append)
    assert [one.evaluations for one in found] == [evaluations] * 2
    assert (len(told), len(steps)) == (evaluations, 4 * evaluations)


def test_networks_that_are_trained_together_equal_those_of_plain_loops():
    rows, dev, test = _made(150, 3), _made(60, 3, seed=1), _made(90, 3, seed=2)
    found = finish(trained(rows, dev, 3, senteval.DECAYS, 7890, TOLD, network=Network(rate=1e-2)))
    for decay, one in zip(senteval.DECAYS, found, strict=True):
        slow = senteval_loops.Classifier(8, 3, decay, 7890, rate=1e-2)
        best = slow.fit(rows.x, rows.y, (dev.x, dev.y))
        assert (one.evaluations, one.accuracy) == (slow.evaluations, best)
        weights = [slow.model[0].weight, slow.model[0].bias, slow.model[3].weight, slow.model[3].bias]
        for mine, wanted in zip(one.weights, weights, strict=True):
            torch.testing.assert_close(mine, wanted.detach(), rtol=1e-6, atol=1e-8)
        assert np.array_equal(one.predict(test.x), slow.predict(test.x))
    assert len({one.evaluations for one in found}) > 1, "some stop before others"


def test_first_weights_are_those_of_two_linear_layers_after_the_seed():
    before = torch.random.get_rng_state()
    found = first_weights(8, 3, 2, 1234, Network())
    assert torch.equal(before, torch.random.get_rng_state()), "the global generator is untouched"
    with torch.random.fork_rng():
        torch.manual_seed(1234)
        one, two = nn.Linear(8, 50), nn.Linear(50, 3)
    for mine, wanted in zip(found, (one.weight, one.bias, two.weight, two.bias), strict=True):
        for network in range(2):
            torch.testing.assert_close(mine[network], wanted, rtol=1e-6, atol=0)


def test_with_a_dev_split_there_are_no_folds_and_without_splits_nested_ones():
    rows = _made(100)
    found = finish(senteval.predictions(ProbeData(rows, None, None, 2), 3, QUICK))
    assert np.array_equal(found, senteval_loops.nested(rows.x, rows.y, 2, 3, **SLOW))
    train, dev, test = _made(100), _made(50, seed=1), _made(200, seed=2)
    found = finish(senteval.predictions(ProbeData(train, dev, test, 2), 4, QUICK))
    assert np.array_equal(found, senteval_loops.fixed_split(train.x, train.y, (dev.x, dev.y), test.x, 2, 4, **SLOW))


@pytest.mark.parametrize("seed", [1, 2])
def test_with_a_test_split_folds_over_train_choose_the_decay(seed):
    train, test = _made(110, 3), _made(200, 3, seed=1)
    found = finish(senteval.predictions(ProbeData(train, None, test, 3), seed, QUICK))
    assert np.array_equal(found, senteval_loops.train_and_test(train.x, train.y, test.x, 3, seed, **SLOW))


def test_mean_accuracies_are_compared_after_rounding_to_two_decimals():
    assert senteval._best([0.812341, 0.812344, 0.8, 0.7]) == 0
    assert senteval._best([0.8123, 0.8124, 0.8, 0.7]) == 1


FITS = [(logistic, "path", _rows, ()), (senteval, "trained", _made, (Network(hidden=2, epoch_size=1, max_epoch=0),))]


@pytest.mark.parametrize(("probe", "fit", "made", "network"), FITS, ids=["logistic", "senteval"])
@pytest.mark.parametrize(("test", "dev"), [(False, False), (True, False), (True, True)])
def test_the_number_of_fits_is_known_before(probe, fit, made, network, test, dev, monkeypatch):
    rows, told, fits, real = made(100), [], [], getattr(probe, fit)
    monkeypatch.setattr(probe, fit, lambda *given, **named: fits.append(1) or real(*given, **named))
    data = ProbeData(rows, rows if dev else None, rows if test else None, 2)
    finish(probe.predictions(data, 1, *network), told.append)
    assert len(fits) == probe.fits(test, dev) == told[-1].total == told[-1].done + 1
