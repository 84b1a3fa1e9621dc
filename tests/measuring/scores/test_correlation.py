import numpy as np
import pytest
import scipy.stats

from explorer.measuring.scores.correlation import measured, pearson, ranks, spearman


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
    gold, system = columns[0], columns[1].astype(np.float64)
    system[0, 0] = 1.0
    system[0, 1] = 1.0 - 1e-13 * (np.arange(50) % 2)  # rounding of equal vectors is not agreement
    for measure in (pearson, spearman):
        assert np.isnan(measure(gold, system)[0]).tolist() == [True, True, False]
        assert np.isnan(measure(np.ones(50), system)).all()


def test_a_nearly_constant_column_has_the_correlation_of_scipy(columns):
    gold, system = columns
    close = 1 - 1e-9 * (system[1, 1].astype(np.float64) + 5)
    assert spearman(gold, close) == pytest.approx(scipy.stats.spearmanr(gold, close)[0])
    assert pearson(gold, close) == pytest.approx(scipy.stats.pearsonr(gold, close)[0], abs=1e-6)


def test_a_column_that_is_missing_has_no_correlation(columns):
    gold, system = columns
    system[2, 0] = np.nan
    for measure in (pearson, spearman):
        assert np.isnan(measure(gold, system)[2]).tolist() == [True, False, False]


def column(distance, count=50):
    """Cosines of unit vectors that are about so far apart."""
    return 1 - np.square(distance * np.linspace(0.5, 1.5, count)) / 2


def test_only_what_is_closer_than_a_precision_rounds_is_taken_out():
    cosines = np.stack([column(2**-8), column(2**-7), column(0.5), np.ones(50)]).reshape(2, 2, 50)
    found = measured(cosines, "bfloat16")
    assert np.isnan(found).all(-1).tolist() == [[True, False], [False, False]]
    assert np.array_equal(found[~np.isnan(found)], cosines[~np.isnan(found)])
    assert np.array_equal(measured(cosines, "float32"), cosines)


def test_pairs_of_equal_vectors_say_nothing_of_how_close_the_others_are():
    cosines = column(0.5)
    cosines[20:] = 1
    assert np.array_equal(measured(cosines, "bfloat16"), cosines)


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
