"""Test the verdict on a tuned model: three scores on the same pairs, and the sentence."""

import json

import numpy as np
import pytest
from scipy.stats import spearmanr

from explorer import typed_json
from explorer.data.kinds import GradedPairs
from explorer.measuring.scores import bootstrap
from explorer.measuring.scores import verdict as verdicts
from explorer.measuring.scores.judge import PairJudge
from explorer.measuring.scores.meaning_judges import PackChange, PairChange, Share
from explorer.measuring.scores.verdict import BaseItems, Outcome, Verdict

DRAWN = np.random.default_rng(3)
GOLD = np.round(DRAWN.uniform(0, 5, 80), 1)
PAIRS = GradedPairs("made up", tuple(f"a {row}" for row in range(80)), tuple(f"b {row}" for row in range(80)),
                    tuple(GOLD.tolist()), ("",) * 80)  # fmt: skip


def near(noise: float) -> np.ndarray:
    return np.tanh(GOLD / 5 + DRAWN.normal(0, noise, 80))


def test_the_three_scores_are_spearmans_and_the_difference_is_to_the_declared_base():
    declared, same, tuned = near(0.1), near(0.5), near(0.3)
    found = verdicts.outcome(PairJudge(PAIRS), BaseItems(declared, same), tuned)
    slow = [100 * spearmanr(GOLD, cosines).statistic for cosines in (declared, same, tuned)]
    assert [found.declared_base, found.same_reading_base, found.exported] == pytest.approx(slow)
    assert found.difference == pytest.approx(slow[2] - slow[0])
    assert found.difference < 0 < slow[2] - slow[1], "the premise: a gain over the same layer & pooling alone"
    gap = bootstrap.difference(GOLD, declared, tuned)
    assert (found.low, found.high) == (pytest.approx(float(gap.low)), pytest.approx(float(gap.high)))


def test_a_constant_column_has_no_score_and_no_difference():
    found = verdicts.outcome(PairJudge(PAIRS), BaseItems(np.full(80, 0.5), near(0.1)), near(0.2))
    assert found.declared_base is None
    assert found.difference is found.low is found.high is None
    assert found.exported is not None


def test_it_survives_json_and_a_broken_one_is_none():
    packs = (PackChange("negation", 60, Share(0.1, 0.0, 0.2), Share(0.7, 0.6, 0.8), 0.4, 0.8),)
    pairs = (PairChange("negation", "It rains.", "It does not rain.", 0.9, 0.2),)
    verdict = Verdict(Outcome(1.0, 2.0, 3.0, 2.0, -1.0, 4.0), None, True, packs=packs, pairs=pairs)
    assert typed_json.read(Verdict, json.loads(json.dumps(verdict.as_json()))) == verdict
    assert typed_json.read(Verdict, [1]) is None
    strange = {"test": {"exported": "high", "low": True, "more": 1}, "dev": 3, "optimistic": "yes"}
    assert typed_json.read(Verdict, strange) == Verdict(Outcome(), None, False)
