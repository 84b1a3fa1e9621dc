"""Test the verdict on a model: its scores and their difference, its kind by the interval, and the sentence."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import spearmanr

from explorer import typed_json
from explorer.data.text_sets import GradedPairs
from explorer.measuring.scores import bootstrap
from explorer.measuring.scores import verdict as verdicts
from explorer.measuring.scores.judge import PackChange, PairChange, PairJudge, Share
from explorer.measuring.scores.verdict import BETTER, CHANCE, UNKNOWN, WORDS, WORSE, RunVerdict, Verdict, sentence

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
    assert [found.declared_base, found.same_reading_base, found.exported] == pytest.approx(slow)
    assert found.difference == pytest.approx(slow[2] - slow[0])
    assert found.difference < 0 < slow[2] - slow[1], "the premise: a gain over the same layer & pooling alone"
    gap = bootstrap.difference(GOLD, declared, tuned)
    assert (found.low, found.high) == (pytest.approx(float(gap.low)), pytest.approx(float(gap.high)))


def test_it_survives_json_and_a_constant_column_has_no_score():
    found = verdicts.judged(PairJudge(PAIRS), np.stack([np.full(80, 0.5), near(0.1)]), near(0.2))
    assert found.declared_base is None
    assert found.difference is found.low is found.high is None
    assert found.exported is not None
    packs = (PackChange("negation", 60, Share(0.1, 0.0, 0.2), Share(0.7, 0.6, 0.8), 0.4, 0.8),)
    pairs = (PairChange("negation", "It rains.", "It does not rain.", 0.9, 0.2),)
    verdict = RunVerdict(Verdict(1.0, 2.0, 3.0, 2.0, -1.0, 4.0), None, True, packs=packs, pairs=pairs)
    assert typed_json.read(RunVerdict, json.loads(json.dumps(verdict.as_json()))) == verdict
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


@pytest.mark.parametrize("missing", ["declared_base", "exported", "difference", "low", "high"])
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
    assert "-0.00" not in sentence(Verdict(75.0, None, 75.0, -0.0, -0.001, 0.0), "base", "tuned", "120 pairs").text
