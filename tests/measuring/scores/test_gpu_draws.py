"""Test Spearman's correlation on resamples where a GPU computes: the numbers of scipy, and when it is chosen."""

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr

from explorer.encoding.load import hardware
from explorer.measuring.scores import bootstrap, correlation
from explorer.measuring.scores.correlation import SpearmanOfDraws, SpearmanOfManyDraws, spearman_of_draws
from tests.device import DEVICE

PAIRS, RESAMPLES = 60, 20


@pytest.fixture
def drawn():
    """Gold scores and cosines with ties, and how often each pair is drawn."""
    random = np.random.default_rng(3)
    gold = random.integers(0, 6, PAIRS) / 1.0
    cosines = np.round(gold / 10 + random.normal(0, 0.2, PAIRS), 1)
    times = random.multinomial(PAIRS, np.full(PAIRS, 1 / PAIRS), RESAMPLES).T.astype(np.float32)
    return gold, cosines, times


@pytest.mark.device
def test_the_correlations_are_those_of_scipy_on_the_pairs_that_are_drawn(drawn):
    gold, cosines, times = drawn
    seen = SpearmanOfManyDraws(gold, times, DEVICE)(cosines)
    sides = ([np.repeat(side, count.astype(int)) for side in (gold, cosines)] for count in times.T)
    np.testing.assert_allclose(seen, [spearmanr(*each).statistic for each in sides], atol=1e-12)
    np.testing.assert_allclose(seen, SpearmanOfDraws(gold, times)(cosines), atol=1e-5)


@pytest.mark.device
def test_what_is_constant_or_missing_has_none(drawn):
    gold, cosines, times = drawn
    of_column = SpearmanOfManyDraws(gold, times, DEVICE)
    assert np.isnan(of_column(np.full(PAIRS, 0.5))).all()
    assert np.isnan(of_column(np.where(cosines > 0, cosines, np.nan))).all()
    assert of_column(cosines).shape == (RESAMPLES,)


def test_a_gpu_is_taken_for_many_draws_where_it_is_in_use_and_has_room(drawn, monkeypatch):
    gold, cosines, times = drawn
    assert isinstance(spearman_of_draws(gold, times), SpearmanOfDraws)
    monkeypatch.setattr(hardware, "gpu_in_use", lambda: "cpu")
    assert isinstance(spearman_of_draws(gold, times), SpearmanOfDraws), "few"
    monkeypatch.setattr(correlation, "MANY_DRAWS", times.size)
    assert isinstance(spearman_of_draws(gold, times), SpearmanOfManyDraws)
    many = bootstrap.difference(gold, cosines, cosines[::-1].copy())
    monkeypatch.setattr(correlation, "MANY_DRAWS", 10**9)
    few = bootstrap.difference(gold, cosines, cosines[::-1].copy())
    np.testing.assert_allclose([many.low, many.high], [few.low, few.high], atol=1e-3)
    monkeypatch.setattr(correlation, "MANY_DRAWS", times.size)

    def without_room(*_):
        raise torch.OutOfMemoryError("CUDA out of memory.")

    of_column = spearman_of_draws(gold, times)
    monkeypatch.setattr(SpearmanOfManyDraws, "_groups", without_room)
    np.testing.assert_array_equal(of_column(cosines), SpearmanOfDraws(gold, times)(cosines))
    assert isinstance(spearman_of_draws(gold, times), SpearmanOfDraws)


@pytest.mark.skipif(DEVICE != "cpu", reason="a GPU is in use")
def test_a_gpu_that_nothing_was_computed_on_is_not_in_use():
    assert hardware.gpu_in_use() == ""
