"""Test that correlations are those of scipy, and scores of predicted classes those of scikit-learn."""

import random

import numpy as np
import pytest
import scipy.stats
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

from explorer.measuring.scores.correlation import measured, pearson, ranks, spearman
from explorer.measuring.scores.metrics import MEASURES, class_scores


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


def test_a_constant_or_missing_column_has_no_correlation_and_a_nearly_constant_one_that_of_scipy(columns):
    gold, system = columns[0], columns[1].astype(np.float64)
    system[0, 0] = 1.0
    system[0, 1] = 1.0 - 1e-13 * (np.arange(50) % 2)  # rounding of equal vectors is not agreement
    for measure in (pearson, spearman):
        assert np.isnan(measure(gold, system)[0]).tolist() == [True, True, False]
        assert np.isnan(measure(np.ones(50), system)).all()
    gold, system = columns
    close = 1 - 1e-9 * (system[1, 1].astype(np.float64) + 5)
    assert spearman(gold, close) == pytest.approx(scipy.stats.spearmanr(gold, close)[0])
    assert pearson(gold, close) == pytest.approx(scipy.stats.pearsonr(gold, close)[0], abs=1e-6)
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
    cosines = column(0.5)
    cosines[20:] = 1
    assert np.array_equal(measured(cosines, "bfloat16"), cosines)


def test_only_the_order_matters_to_spearman_and_one_column_gives_one_number(columns):
    gold, system = columns
    assert np.allclose(spearman(gold, system), spearman(np.exp(gold), system**3))
    gold, system = columns
    assert spearman(gold, system[0, 0]).shape == ()
    assert ranks(np.array([5.0])).tolist() == [1.0]


@pytest.mark.parametrize("levels", [1, 2, 7, 1000])
def test_ranks_are_those_of_scipy_ties_included(levels):
    values = np.random.default_rng(levels).integers(0, levels, (3, 4, 101)).astype(np.float32)
    assert np.array_equal(ranks(values), scipy.stats.rankdata(values, axis=-1))
    assert np.array_equal(ranks(values[0, 0]), scipy.stats.rankdata(values[0, 0]))


@pytest.mark.parametrize("classes", ["ab", "abcd"])
@pytest.mark.parametrize("noise", [0.0, 0.3, 1.0])
def test_the_scores_are_those_of_scikit_learn(classes, noise):
    drawn = random.Random(len(classes))
    gold = drawn.choices(classes, weights=range(1, len(classes) + 1), k=200)
    found = [drawn.choice(classes) if drawn.random() < noise else one for one in gold]
    scores = class_scores(gold, found)
    expected = accuracy_score(gold, found), f1_score(gold, found, average="macro"), matthews_corrcoef(gold, found)
    assert [scores.measure(name) for name in MEASURES] == pytest.approx([100 * one for one in expected])
    assert (scores.measure("accuracy"), scores.rows) == (scores.accuracy, 200)


def test_one_predicted_class_for_every_row_has_no_correlation():
    scores = class_scores("aab", "aaa")
    assert (scores.accuracy, scores.matthews) == (pytest.approx(200 / 3), 0.0)
    assert scores.macro_f1 == pytest.approx(100 * f1_score(list("aab"), list("aaa"), average="macro", zero_division=0))
