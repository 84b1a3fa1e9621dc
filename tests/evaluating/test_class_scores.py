"""Test the scores of predicted classes against scikit-learn."""

import random

import pytest
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

from explorer.evaluating.probes.class_scores import MEASURES, class_scores


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
