"""Test that a confidence interval covers the truth as often as stated."""

import numpy as np
import pytest

from explorer.errors import BadChoice
from explorer.measuring.scores import bootstrap
from explorer.measuring.scores.bootstrap import difference, mean_difference, resampled


def rows(pairs=60, shape=(2, 3), seed=0, step=0.5):
    """Grades on steps, and two models' cosines, some of them tied."""
    random = np.random.default_rng(seed)
    gold = np.round(random.uniform(0, 5, pairs) / step) * step
    one = random.normal(size=(*shape, pairs)) + gold * 0.4
    other = np.round(random.normal(size=(*shape, pairs)) + gold * 0.8, 1)
    return gold, one.astype(np.float32), other.astype(np.float32)


def test_a_model_beside_itself_differs_by_nothing_and_a_column_that_never_varies_has_no_interval():
    gold, one, _ = rows()
    found = difference(gold, one, one)
    assert not found.difference.any()
    assert not found.low.any()
    assert not found.high.any()
    assert not found.sure.any()
    gold, one, other = rows()
    one[0, 1] = 0.25
    found = difference(gold, one, other, resamples=20)
    assert np.isnan(found.difference[0, 1])
    assert np.isnan(found.low[0, 1])
    assert not found.sure[0, 1]
    assert np.isfinite(np.delete(found.low.ravel(), 1)).all()
    gold = np.array([1.0, 1, 1, 1, 1, 1, 1, 5])
    one, other = np.linspace(0, 1, 8), np.linspace(1, 0, 8) ** 2
    found = difference(gold, one, other, resamples=200)
    assert np.isfinite([found.low, found.high]).all()


def test_the_interval_covers_the_truth_as_often_as_it_says():
    """Two models that see a normal truth through noise; their population ρ is known in closed form."""

    def population(noise):
        return 100 * 6 / np.pi * np.arcsin(1 / np.sqrt(1 + noise**2) / 2)

    truth = population(0.8) - population(1.2)
    random, covered, tries = np.random.default_rng(0), 0, 500
    for number in range(tries):
        gold = random.normal(size=150)
        shared = random.normal(size=150) * 0.5
        one = gold + shared + random.normal(size=150) * np.sqrt(1.2**2 - 0.25)
        other = gold + shared + random.normal(size=150) * np.sqrt(0.8**2 - 0.25)
        found = difference(gold, one, other, resamples=300, seed=number)
        covered += bool(found.low <= truth <= found.high)
    assert 0.93 <= covered / tries <= 0.97


def test_the_seed_decides_the_interval_and_parts_of_many_pairs_do_not(monkeypatch):
    gold, one, other = rows()
    first, again, another = (difference(gold, one, other, resamples=50, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(first.low, again.low)
    assert not np.array_equal(first.low, another.low)
    gold, one, other = rows()
    whole = difference(gold, one, other, resamples=30)
    monkeypatch.setattr(bootstrap, "_AT_ONCE", 7 * 60)
    parts = difference(gold, one, other, resamples=30)
    assert np.array_equal(whole.low, parts.low)
    assert np.array_equal(whole.high, parts.high)


def test_a_difference_of_means_is_that_of_a_slow_loop_and_covers_the_truth():
    random = np.random.default_rng(5)
    one, other = random.uniform(size=40), random.uniform(size=40) + 0.1
    found = mean_difference(one, other, resamples=4000)
    drawn = [random.choice(other - one, 40).mean() for _ in range(20_000)]
    assert float(found.difference) == pytest.approx(100 * (other.mean() - one.mean()))
    assert [float(found.low), float(found.high)] == pytest.approx(100 * np.quantile(drawn, [0.025, 0.975]), abs=0.6)
    covered = 0
    for _ in range(400):
        tried = mean_difference(np.zeros(60), random.normal(0.05, 1, 60), resamples=400)
        covered += bool(tried.low <= 5 <= tried.high)
    assert 0.91 <= covered / 400 <= 0.98


def test_a_mean_beside_itself_differs_by_nothing_and_one_with_a_missing_item_is_missing():
    items = np.random.default_rng(1).uniform(size=30)
    same = mean_difference(items, items)
    assert float(same.difference) == float(same.low) == float(same.high) == 0
    assert np.isnan(mean_difference(items, np.full(30, np.nan)).low)


@pytest.mark.parametrize("interval", [lambda gold, one, **how: difference(gold, one, one, **how), resampled])
def test_an_unknown_metric_never_gets_the_interval_of_another(interval):
    gold, one, _ = rows(shape=(2,))
    with pytest.raises(
        BadChoice, match=r"no metric 'Kendall'\. Choose one of Spearman, Pearson, average precision, F1"
    ):
        interval(gold, one, metric="Kendall")
