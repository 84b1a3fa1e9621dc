"""Test that too few pairs, or pairs without two gold scores, have no score and no verdict, but a reason."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from scipy.stats import spearmanr

from explorer.data.labelled.labelled_sets import LabelledSet
from explorer.data.text_sets import GradedPairs, Labelled
from explorer.encoding.locate.model_names import Found
from explorer.encoding.read.pooling import parse
from explorer.errors import DataError
from explorer.evaluating.kinds.labelled import LabelJudge
from explorer.evaluating.kinds.scored_pairs import PairJudge
from explorer.evaluating.results.scored_task import NO_SCORE
from explorer.evaluating.tasks.sts import of_scores
from explorer.evaluating.tasks.transfer import transfer
from explorer.measuring.comparing import comparison_verdict
from explorer.measuring.comparing.comparison import Comparison
from explorer.measuring.comparing.comparison_verdict import judge
from explorer.measuring.scores import bootstrap, calibration, layer_scores, metrics
from explorer.measuring.scores.metrics import ALL_EQUAL, LEAST_PAIRS, NOT_TWO, TOO_FEW, why_no_score
from explorer.measuring.scores.verdict import UNKNOWN
from explorer.progress import finish

LAST = parse("mean of layer 6", 6)
BINARY = np.array([0.0, 1, 0, 1, 1, 0, 1, 0])
GRADED = np.array([0.5, 1, 4, 3, 2, 5, 1.5, 2.5])


def test_five_pairs_are_the_fewest_of_which_a_correlation_can_differ_from_chance():
    for count in range(2, 7):
        orders = [abs(spearmanr(range(count), order).statistic) for order in permutations(range(count))]
        chance = np.mean(np.array(orders) > max(orders) - 1e-9)  # of the largest correlation, upwards or downwards
        assert (chance <= 0.05) == (count >= LEAST_PAIRS), count


@pytest.mark.parametrize("count", range(1, 8))
@pytest.mark.parametrize("metric", ["Spearman", "Pearson", "average precision", "F1", "best accuracy"])
def test_too_few_pairs_have_no_score_and_no_interval_by_any_metric(count, metric):
    cosines = np.random.default_rng(0).random((3, 8)).astype(np.float32)[:, :count]
    gold = (GRADED if metric in ("Spearman", "Pearson") else BINARY)[:count]
    found = metrics.agreement(gold, cosines, ("",) * count, metric, "all")
    gap = bootstrap.difference(gold, cosines, cosines[::-1], metric=metric, resamples=50)
    few = count < LEAST_PAIRS
    assert np.isnan(found).all() == np.isnan(gap.difference).all() == np.isnan(gap.low).all() == few
    assert why_no_score(gold, metric) == (TOO_FEW if few else "")
    if metric == "F1":
        assert (calibration.best_threshold(gold, cosines[0]) is None) == few


@pytest.mark.parametrize(
    ("gold", "metric", "why"),
    [
        (np.ones(8), "Spearman", ALL_EQUAL), (np.ones(8), "F1", ALL_EQUAL), (GRADED, "F1", NOT_TWO),
        (GRADED, "average precision", NOT_TWO), (BINARY, "F1", ""), (GRADED, "Pearson", ""),
        (GRADED[:0], "F1", TOO_FEW),
    ],
)  # fmt: skip
def test_gold_scores_that_say_nothing_are_the_reason(gold, metric, why):
    assert why_no_score(gold, metric) == why
    cosines = np.random.default_rng(0).random(len(gold))
    assert np.isnan(metrics.METRICS[metric].of_pairs(gold, cosines)) == bool(why)
    assert bool(metrics.no_score_in_words(why, len(gold))) == bool(why)


@pytest.mark.parametrize("metric", ["Spearman", "Pearson", "average precision", "F1", "best accuracy"])
def test_cosines_that_are_all_equal_order_no_pairs_and_have_no_score_by_any_metric(metric):
    gold = GRADED if metric in ("Spearman", "Pearson") else BINARY
    equal, others = np.full(len(gold), 0.5), np.random.default_rng(0).random(len(gold))
    equal[::2] += 1e-13  # the rounding of one vector
    assert np.isnan(metrics.METRICS[metric].of_pairs(gold, equal))
    assert np.isnan(bootstrap.difference(gold, equal, others, metric=metric, resamples=50).low)
    assert calibration.best_threshold(BINARY, equal) is None


@pytest.mark.parametrize("rows", [[3], [3, 5], [3, 5, 7, 9]])
def test_a_comparison_on_too_few_pairs_is_no_verdict_and_says_why(bundled_scores, rows):
    few = bundled_scores.of_pairs(rows)
    noise = np.random.default_rng(0).normal(size=few.cosines.shape).astype(np.float32)
    comparison = Comparison(few, replace(few, cosines=few.cosines + noise), LAST, LAST)
    pairs = GradedPairs("few", *[("a",) * len(rows)] * 2, tuple(few.gold), ("",) * len(rows))
    found = tuple(Found(name, None, name) for name in ("one", "other"))
    verdict = judge(found, pairs, comparison, comparison.chosen(), "Spearman", "all")
    assert verdict.score.kind == UNKNOWN
    why = f"too few pairs: {len(rows)}, where a score needs at least 5"
    assert verdict.why_none == comparison_verdict.as_json(verdict)["no_score"] == why
    assert why in verdict.sentence().text
    assert layer_scores.why_none(few) == why
    assert of_scores(few, pairs).setting[NO_SCORE] == why
    assert NO_SCORE not in of_scores(bundled_scores, pairs).setting


def test_a_judge_of_pairs_says_why_it_gives_no_score():
    for gold, why in (((1.0, 2.0), TOO_FEW), ((1.0,) * 6, ALL_EQUAL), ((1.0, 2.0, 3.0, 4.0, 5.0), "")):
        texts = tuple(map(str, range(len(gold))))
        pairs = PairJudge(GradedPairs("x", texts, texts[::-1], gold, ("",) * len(gold)))
        assert pairs.why_no_score == why
        assert np.isnan(pairs.score(np.linspace(0, 1, len(gold)))) == bool(why)
        assert np.isnan(pairs.difference(*np.random.default_rng(0).random((2, len(gold)))).low) == bool(why)


def test_rows_of_one_class_have_no_accuracy():
    rows = Labelled("x", tuple(map(str, range(100))), ("a", "b") * 50)
    one = LabelledSet("x", rows, test=Labelled("t", ("c", "d"), ("a", "a")))
    for score in (
        lambda given: LabelJudge(given).with_prompts(None, None),
        lambda given: finish(transfer(None, given)),
    ):
        with pytest.raises(DataError, match=r"No score on x: every row of its test split has the label 'a'"):
            score(one)
    assert LabelJudge(LabelledSet("x", rows, test=Labelled("t", ("c", "d"), ("a", "b")))).item == "row"
