import numpy as np
import pytest
import scipy.stats

from explorer.measuring.similarity import pearson, ranks, spearman


@pytest.fixture
def columns():
    chance = np.random.default_rng(0)
    return chance.integers(0, 6, 50).astype(float), chance.normal(size=(4, 3, 50)).astype(np.float32)


def test_both_equal_scipy_column_by_column(columns):
    gold, system = columns
    system = np.round(system, 1)  # ties
    for layer in range(4):
        for pooling in range(3):
            column = system[layer, pooling]
            assert spearman(gold, system)[layer, pooling] == pytest.approx(scipy.stats.spearmanr(gold, column)[0])
            assert pearson(gold, system)[layer, pooling] == pytest.approx(scipy.stats.pearsonr(gold, column)[0])


def test_a_constant_column_has_no_correlation(columns):
    gold, system = columns
    system[0, 0] = 1.0
    system[0, 1] = 1.0 + 1e-7 * (np.arange(50) % 2)  # rounding of equal vectors is not agreement
    for measure in (pearson, spearman):
        assert np.isnan(measure(gold, system)[0]).tolist() == [True, True, False]
        assert np.isnan(measure(np.ones(50), system)).all()


def test_only_the_order_matters_to_spearman(columns):
    gold, system = columns
    assert np.allclose(spearman(gold, system), spearman(np.exp(gold), system**3))


def test_one_column_gives_one_number(columns):
    gold, system = columns
    assert spearman(gold, system[0, 0]).shape == ()


@pytest.mark.parametrize("levels", [1, 2, 7, 1000])
def test_ranks_are_those_of_scipy_ties_included(levels):
    values = np.random.default_rng(levels).integers(0, levels, (3, 4, 101)).astype(np.float32)
    assert np.array_equal(ranks(values), scipy.stats.rankdata(values, axis=-1))
    assert np.array_equal(ranks(values[0, 0]), scipy.stats.rankdata(values[0, 0]))


def test_a_single_value_has_rank_one():
    assert ranks(np.array([5.0])).tolist() == [1.0]
