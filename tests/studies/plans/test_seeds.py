"""Test the interval of a difference over seeds: by scipy, and how often it holds the true difference."""

import numpy as np
import pytest
from scipy.stats import norm

from explorer.measuring.scores.judge import Gap
from explorer.measuring.scores.verdict import Verdict, of_best
from explorer.studies.plans.seeds import needed_over_seeds, over_seeds, wider_smallest
from tests.studies.plans.seeds_by_hand import by_hand


def test_a_single_seed_has_the_interval_of_its_items():
    assert over_seeds([Gap(1.0, -0.5, 2.0)]) == Gap(1.0, -0.5, 2.0)


@pytest.mark.parametrize("seeds", [2, 3, 7])
def test_the_interval_is_that_of_scipy_and_never_narrower_than_that_of_the_items(seeds):
    random = np.random.default_rng(seeds)
    middles = random.normal(1.0, 0.6, seeds)
    gaps = [Gap(middle, middle - 1.1, middle + 1.7) for middle in middles.tolist()]
    found = over_seeds(gaps)
    assert found.difference == pytest.approx(middles.mean())
    assert (found.low, found.high) == pytest.approx(by_hand([(one.difference, one.low, one.high) for one in gaps]))
    assert found.low < middles.mean() - 1.1
    assert found.high > middles.mean() + 1.7


def test_seeds_that_agree_add_no_chance():
    found = over_seeds([Gap(2.0, 1.0, 4.0)] * 3)
    assert (found.difference, found.low, found.high) == pytest.approx((2.0, 1.0, 4.0))


@pytest.mark.parametrize("seeds", [2, 3, 5])
def test_the_interval_holds_the_true_difference_as_often_as_it_says(seeds):
    """Items of a sample are shared by the seeds of a plan; the training of each seed varies by itself."""
    random, held, times = np.random.default_rng(seeds), 0, 4000
    for _ in range(times):
        middles = 0.3 + random.normal(0, 1.0) + random.normal(0, 1.5, seeds)
        found = over_seeds([Gap(middle, middle - 1.96, middle + 1.96) for middle in middles.tolist()])
        held += found.low <= 0.3 <= found.high
    assert 0.93 < held / times < 0.985, "least for two seeds, whose variance is hardly known"


def test_the_best_of_several_is_as_wide_as_bonferroni_has_it():
    """Where none of five is better, the best one is called so in at most 2.5 % of samples."""
    random, called, times = np.random.default_rng(1), 0, 4000
    for _ in range(times):
        best = random.normal(0, 1.0, 5).max()
        called += of_best(Gap(best, best - norm.ppf(0.975), best + norm.ppf(0.975)), 5).low > 0
    assert called / times < 0.03
    assert of_best(Gap(1.0, 0.5, 2.0), 1) == Gap(1.0, 0.5, 2.0)
    assert wider_smallest(1) == 1
    edges = norm.ppf(1 - 0.025 / 3) + norm.ppf(0.8), norm.ppf(0.975) + norm.ppf(0.8)
    assert wider_smallest(3) == pytest.approx(edges[0] / edges[1])


def test_the_items_that_a_mean_gain_needs_are_those_of_the_gains_of_the_seeds():
    gains = [Verdict(difference=2.0, items_needed=900), Verdict(difference=4.0, items_needed=225)]
    assert needed_over_seeds(gains, 2.0) == 900
    assert needed_over_seeds(gains, 3.0) == 400
    assert needed_over_seeds(gains[:1], 2.0) == 900
    assert needed_over_seeds([*gains, Verdict(difference=-1.0)], 2.0) is None, "one seed gained nothing"
    assert needed_over_seeds([], 1.0) is None
    assert [needed_over_seeds(gains, gain) for gain in (0.0, -1.0)] == [None, None]
