"""Test the reasons why a layer & pooling has no score."""

from dataclasses import replace

import numpy as np
import pytest

from explorer.encoding.read.pooling import OWN, parse
from explorer.measuring.scores.layer_scores import why_missing

CLS_0, MEAN_3 = parse("cls of layer 0", 6), parse("mean of layer 3", 6)


def test_a_score_has_no_reason_to_be_missing(bundled_scores):
    for metric in ("Spearman", "Pearson"):
        for way in ("all", "mean", "wmean"):
            assert {why_missing(bundled_scores, reading, metric, way) for reading in (MEAN_3, OWN)} == {""}


@pytest.mark.parametrize("way", ["all", "mean"])
def test_every_cls_of_layer_0_is_the_same_vector(bundled_scores, way):
    assert why_missing(bundled_scores, CLS_0, "Spearman", way) == "every [CLS] of layer 0 is the same vector"


def test_equal_cosines_of_another_layer_or_of_vectors_that_differ_are_only_equal(bundled_scores):
    cosines = np.full_like(bundled_scores.cosines, 0.5)
    for reading in (CLS_0, MEAN_3):
        assert why_missing(replace(bundled_scores, cosines=cosines), reading) == "all cosines are equal"


def test_what_the_precision_cannot_measure_names_the_next_step(bundled_scores):
    lost = replace(bundled_scores, cosines=np.full_like(bundled_scores.cosines, np.nan), precision="bfloat16")
    assert why_missing(lost, MEAN_3) == "not measurable in bfloat16: switch precision to float32"


def test_a_sub_corpus_without_a_correlation_is_named(bundled_scores):
    parts = ("single", *("rest",) * (len(bundled_scores.gold) - 1))
    scores = replace(bundled_scores, parts=parts)
    assert why_missing(scores, MEAN_3) == ""
    assert why_missing(scores, MEAN_3, "Pearson", "wmean") == "no wmean: single has no correlation"


def test_equal_gold_scores_are_the_reason(bundled_scores):
    assert why_missing(bundled_scores.of_pairs([4]), MEAN_3) == "all gold scores are equal"
    same = replace(bundled_scores, gold=np.ones_like(bundled_scores.gold))
    assert why_missing(same, MEAN_3) == "all gold scores are equal"
