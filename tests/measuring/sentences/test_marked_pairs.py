"""Test which layer & pooling separates marked pairs: against loops, and against scikit-learn's AUC."""

import statistics

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from explorer.encoding.read.pooling import Reading, Row
from explorer.measuring.sentences import marked_pairs
from explorer.measuring.sentences.marked_pairs import separation

SAME = np.array([True, True, True, False, False])
READINGS = [Reading(Row((layer,)), "mean") for layer in range(3)]


def drawn(seed=0):
    chance = np.random.default_rng(seed)
    return chance.uniform(-1, 1, (3, 5)), chance.uniform(0.05, 0.3, 3)


def test_margin_and_auc_are_those_of_a_loop_and_of_scikit_learn():
    cosines, spread = drawn()
    found = separation(READINGS, cosines, SAME, spread, READINGS[0])
    for row, width, margin, auc in zip(cosines, spread, found.margin, found.auc, strict=True):
        ones, others = row[:3].tolist(), row[3:].tolist()
        squares = sum((x - statistics.mean(group)) ** 2 for group in (ones, others) for x in group)
        deviation = ((squares + marked_pairs.AS_MARKS * width**2) / (5 + marked_pairs.AS_MARKS)) ** 0.5
        assert margin == pytest.approx((statistics.mean(ones) - statistics.mean(others)) / deviation)
        assert auc == pytest.approx(roc_auc_score(SAME, row))
    assert found.best == READINGS[int(np.argmax(found.margin))]
    assert found.gap[0] == pytest.approx(found.margin.max() - found.margin[0])


def test_a_layer_whose_cosines_are_all_farther_apart_has_no_advantage():
    cosines, spread = drawn()
    cosines[1], spread[1] = 3 * cosines[0], 3 * spread[0]
    margins = marked_pairs.margin_of(cosines, SAME, spread)
    assert margins[1] == pytest.approx(margins[0])


def test_of_one_vector_for_all_sentences_there_is_no_margin_and_it_is_never_the_best():
    cosines, spread = drawn()
    cosines[2], spread[2] = 1.0, 0.0
    found = separation(READINGS, cosines, SAME, spread, READINGS[0])
    assert np.isnan(found.margin[2])
    assert found.best != READINGS[2]


def test_without_a_pair_of_each_kind_nothing_is_named():
    cosines, spread = drawn()
    for same in (np.ones(5, bool), np.zeros(5, bool), np.zeros(0, bool)):
        assert separation(READINGS, cosines[:, : len(same)], same, spread, READINGS[0]) is None


def test_few_marks_are_a_guess_and_the_chosen_one_is_no_better_than_itself():
    cosines, spread = drawn()
    best = separation(READINGS, cosines, SAME, spread, READINGS[0]).best
    found = separation(READINGS, cosines, SAME, spread, best)
    assert found.is_guess
    assert found.gap == (0, 0, 0)
    assert found.could_be_chance
    many = np.tile(cosines, 4)
    assert not separation(READINGS, many, np.tile(SAME, 4), spread, best).is_guess
