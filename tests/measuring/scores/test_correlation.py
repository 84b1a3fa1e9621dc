"""Test correlations against scipy, and the verdict on a model."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats
from scipy.stats import spearmanr

from explorer import typed_json
from explorer.data.text_sets import GradedPairs
from explorer.evaluating.kinds.scored_pairs import PairJudge
from explorer.measuring.comparing.verdict_sentence import is_untrained, parts, power, sentence
from explorer.measuring.scores import bootstrap
from explorer.measuring.scores import verdict as verdicts
from explorer.measuring.scores.correlation import measured, pearson, ranks, spearman
from explorer.measuring.scores.judge import Gap, PackChange, PairChange, Share
from explorer.measuring.scores.verdict import (
    BETTER,
    CHANCE,
    CHOSE,
    UNKNOWN,
    WORDS,
    WORSE,
    RunVerdict,
    Verdict,
    by_training,
)


@pytest.fixture
def columns():
    chance = np.random.default_rng(0)
    return chance.integers(0, 6, 50).astype(float), chance.normal(size=(4, 3, 50)).astype(np.float32)


def test_both_equal_scipy_column_by_column_and_only_the_order_matters_to_spearman(columns):
    gold, system = columns
    system = np.round(system, 1)  # ties
    for layer in range(4):
        for pooling in range(3):
            column = system[layer, pooling]
            assert spearman(gold, system)[layer, pooling] == pytest.approx(scipy.stats.spearmanr(gold, column)[0])
            assert pearson(gold, system)[layer, pooling] == pytest.approx(scipy.stats.pearsonr(gold, column)[0])
    assert np.allclose(spearman(gold, system), spearman(np.exp(gold), system**3))
    assert spearman(gold, system[0, 0]).shape == ()
    assert ranks(np.array([5.0])).tolist() == [1.0]


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


@pytest.mark.parametrize("levels", [1, 2, 7, 1000])
def test_ranks_are_those_of_scipy_ties_included(levels):
    values = np.random.default_rng(levels).integers(0, levels, (3, 4, 101)).astype(np.float32)
    assert np.array_equal(ranks(values), scipy.stats.rankdata(values, axis=-1))
    assert np.array_equal(ranks(values[0, 0]), scipy.stats.rankdata(values[0, 0]))


DRAWN = np.random.default_rng(3)
GOLD = np.round(DRAWN.uniform(0, 5, 80), 1)
PAIRS = GradedPairs("made up", tuple(f"a {row}" for row in range(80)), tuple(f"b {row}" for row in range(80)),
                    tuple(GOLD.tolist()), ("",) * 80)  # fmt: skip


def near(noise: float) -> np.ndarray:
    return np.tanh(GOLD / 5 + DRAWN.normal(0, noise, 80))


def test_the_three_scores_are_spearmans_and_the_difference_is_to_the_declared_base():
    declared, same, tuned = near(0.1), near(0.5), near(0.3)
    found = verdicts.judged(PairJudge(PAIRS), np.stack([declared, same]), tuned)
    slow = [100 * spearmanr(GOLD, cosines).statistic for cosines in (declared, same, tuned)]
    assert [found.before, found.before_as_trained, found.after] == pytest.approx(slow)
    assert found.difference == pytest.approx(slow[2] - slow[0])
    assert found.difference < 0 < slow[2] - slow[1], "the premise: a gain over the same layer & pooling alone"
    gap = bootstrap.difference(GOLD, declared, tuned)
    assert (found.low, found.high) == (pytest.approx(float(gap.low)), pytest.approx(float(gap.high)))


def test_the_part_of_training_is_the_difference_under_one_pooling_and_the_rest_is_due_to_the_other_pooling():
    declared, same, tuned = near(0.5), near(0.1), near(0.1)
    found = verdicts.judged(PairJudge(PAIRS), np.stack([declared, same]), tuned)
    gap, part = bootstrap.difference(GOLD, same, tuned), found.training
    assert (part.difference, part.low, part.high) == pytest.approx((*map(float, (gap.difference, gap.low, gap.high)),))
    assert found.low > 0, "the premise: in all it is better"
    assert found.kind != BETTER, "but not by training"
    numbers = [float(one.replace("−", "-")) for one in re.findall(r"[+−]\d+\.\d+", parts(found))]
    assert numbers[0] + numbers[1] == pytest.approx(found.shown_difference), "the parts add up as they are shown"
    assert numbers[:2] == pytest.approx([found.difference - part.difference, part.difference], abs=0.0101)
    assert numbers[2:] == pytest.approx([part.low, part.high], abs=0.0051)
    assert found.gap.endswith(by_training(found))
    assert f"{part.low:+.2f}".replace("-", "−") in by_training(found)


def test_the_verdict_on_a_run_has_the_smallest_gain_of_its_items_and_how_many_tell_what_was_seen():
    random = np.random.default_rng(4)
    gold, texts = random.uniform(0, 5, 60), tuple(map(str, range(60)))
    judge = PairJudge(GradedPairs("own", texts, texts[::-1], tuple(gold.tolist()), ("",) * 60))
    errors, own = random.normal(size=(2, 60))
    before, after = gold + 1.2 * errors, gold + 0.9 * errors + 0.2 * own
    found = verdicts.judged(judge, np.stack([before, before]), after)
    spread = judge.spread(before, after, judge.difference(before, after))
    assert found.smallest_gain == spread.smallest_gain()
    assert found.items_needed == spread.items_needed(found.difference)
    assert (
        power(replace(found, low=-1.0)) == f"A gain of {found.smallest_gain:.1f} points would show in 80 % of samples."
    )
    assert found.low > 0
    assert not power(found), "a gain was seen"
    worse = verdicts.judged(judge, np.stack([after, after]), before)
    assert worse.smallest_gain
    assert worse.items_needed is None, "no gain was seen"
    for nothing in (verdicts.judged(judge, np.stack([before, before]), after, chose=True), Verdict()):
        assert (nothing.smallest_gain, nothing.items_needed, power(nothing)) == (None, None, "")


def test_equal_weights_changed_nothing_and_one_pooling_has_no_parts():
    declared, same = near(0.5), near(0.1)
    equal = verdicts.judged(PairJudge(PAIRS), np.stack([declared, same]), same)
    assert is_untrained(equal)
    assert equal.kind == CHANCE
    assert "training changed nothing" in sentence(equal, "base", "tuned", "80 pairs").text
    alone = verdicts.judged(PairJudge(PAIRS), np.stack([declared, declared + 1e-7]), same)
    assert alone.training is None
    assert not parts(alone)
    assert alone.kind == BETTER


@pytest.mark.parametrize(
    ("total", "part", "kind"),
    [
        ((1.0, 3.0), (0.5, 2.0), BETTER), ((1.0, 3.0), (-0.5, 2.0), CHANCE), ((1.0, 3.0), (-2.0, -0.5), WORSE),
        ((-1.0, 3.0), (0.5, 2.0), CHANCE), ((-3.0, -1.0), (0.5, 2.0), WORSE), ((-3.0, -1.0), (0.0, 0.0), WORSE),
    ],
)  # fmt: skip
def test_a_gain_is_one_of_training_and_in_all_and_a_loss_in_either_is_a_loss(total, part, kind):
    assert replace(KNOWN, low=total[0], high=total[1], training=Gap(0.0, *part)).kind == kind


def test_a_set_that_chose_a_model_has_scores_and_neither_a_verdict_nor_an_interval():
    declared, tuned = near(0.5), near(0.1)
    found = verdicts.judged(PairJudge(PAIRS), np.stack([declared, declared]), tuned, chose=True)
    judged = verdicts.judged(PairJudge(PAIRS), np.stack([declared, declared]), tuned)
    assert judged.kind == BETTER, "the premise"
    assert found.kind == CHOSE
    assert (found.before, found.after) == (judged.before, judged.after)
    assert found.difference == pytest.approx(judged.difference)
    assert found.low is found.high is None
    said = sentence(found, "base", "tuned", "80 pairs")
    assert said.pieces[0] == (WORDS[CHOSE], True)
    assert len(re.findall(r"\d+\.\d+", said.text)) == 2, "both scores"
    assert re.findall(r"[+-]?\d+\.\d+", found.gap) == [f"{found.difference:+.2f}"]


def test_it_survives_json_and_a_constant_column_has_no_score():
    found = verdicts.judged(PairJudge(PAIRS), np.stack([np.full(80, 0.5), near(0.1)]), near(0.2))
    assert found.before is None
    assert found.difference is found.low is found.high is None
    assert found.after is not None
    packs = (PackChange("negation", 60, Share(0.1, 0.0, 0.2), Share(0.7, 0.6, 0.8), 0.4, 0.8),)
    pairs = (PairChange("negation", "It rains.", "It does not rain.", 0.9, 0.2),)
    verdict = RunVerdict(Verdict(1.0, 2.0, 3.0, 2.0, -1.0, 4.0), None, True, packs=packs, pairs=pairs)
    assert typed_json.read(RunVerdict, json.loads(json.dumps(typed_json.written(verdict)))) == verdict
    assert typed_json.read(RunVerdict, [1]) is None
    strange = {"test": {"exported": "high", "low": True, "more": 1}, "dev": 3, "optimistic": "yes"}
    assert typed_json.read(RunVerdict, strange) == RunVerdict(Verdict(), None, False)


KNOWN = Verdict(75.1, None, 78.2, 3.1, 1.2, 5.0)


@pytest.mark.parametrize(
    ("low", "high", "kind"),
    [(1.2, 5.0, BETTER), (-5.0, -0.01, WORSE), (-1.0, 2.0, CHANCE), (0.0, 2.0, CHANCE), (0.0, 0.0, CHANCE)],
)
def test_the_kind_follows_the_interval(low, high, kind):
    verdict = replace(KNOWN, low=low, high=high)
    assert verdict.kind == kind
    said = sentence(verdict, "base", "tuned", "120 pairs")
    assert said.kind == kind
    assert said.text.startswith(f"{WORDS[kind]}: ")


def test_it_names_both_models_and_every_number():
    said = sentence(KNOWN, "base", "run:demo", "the test half, 120 pairs")
    assert re.findall(r"[+-]?\d+\.\d+", said.text) == ["78.20", "75.10", "+3.10", "+1.20", "+5.00"]
    assert said.text.index("run:demo scores 78.20") < said.text.index("base 75.10")
    assert "95 % CI" in said.text
    assert said.text.endswith("the test half, 120 pairs.")


@pytest.mark.parametrize("missing", ["before", "after", "difference", "low", "high"])
@pytest.mark.parametrize("value", [None, float("nan")])
def test_a_missing_number_is_no_verdict(missing, value):
    verdict = replace(KNOWN, **{missing: value})
    said = sentence(verdict, "base", "tuned", "120 pairs")
    assert said.kind == verdict.kind == UNKNOWN
    assert "nan" not in said.text.lower()


def test_an_optimistic_verdict_says_so_in_its_first_words_and_no_number_has_a_negative_zero():
    said = sentence(KNOWN, "base", "tuned", "120 pairs", optimistic=True)
    assert (said.kind, said.pieces[0]) == (BETTER, ("Better (optimistic)", True))
    assert "optimistic" not in sentence(KNOWN, "base", "tuned", "120 pairs").text
    text = sentence(Verdict(75.0, None, 75.0, -0.0, -0.001, 0.0), "base", "tuned", "120 pairs").text
    assert not [zero for zero in ("-0.00 ", "−0.00 ", "−0.00)") if zero in text], text
