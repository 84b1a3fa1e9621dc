"""Test the verdict on a comparison: sides, sign and numbers."""

from dataclasses import replace

import numpy as np
import pytest

from explorer.encoding.read.head_facts import HeadFacts, PartFacts
from explorer.encoding.read.pooling import OWN, parse
from explorer.measuring.comparing.comparison import Tuning, as_used, judge, judged
from explorer.measuring.comparing.comparison_report import cell_rows, most_changed
from tests.drawing import made_up
from tests.drawing.made_up import CLS

WAYS = ("Spearman", "all")


@pytest.fixture(scope="module")
def findings():
    return made_up.findings()


def test_two_models_are_judged_as_they_are_read(findings):
    chosen, numbers = findings.chosen(), findings.verdict.as_json()
    assert (numbers["before"]["score"], numbers["after"]["score"]) == (chosen["A"], chosen["B"])
    assert [numbers[name] for name in ("difference", "low", "high")] == [
        chosen[name] for name in ("difference", "low", "high")
    ]
    assert numbers["kind"] == ("better" if chosen["low"] > 0 else "worse" if chosen["high"] < 0 else "chance")
    assert "declared_base" not in numbers


@pytest.mark.parametrize("tuned", [0, 1])
def test_a_tuned_model_is_judged_against_its_base_whichever_side_it_is_on(findings, tuned):
    tuning = Tuning(tuned, replace(CLS, normalised=True), optimistic=True)
    comparison = judged(findings.comparison, tuning)
    assert (comparison.one_reading, comparison.other_reading) == (OWN, OWN), "as people use them"
    gap = comparison.chosen(*WAYS, resamples=50)
    verdict = judge(findings.found, findings.pairs, comparison, gap, *WAYS, tuning)
    sides = comparison.one, comparison.other
    numbers = verdict.as_json()
    assert numbers["exported"] == pytest.approx(sides[tuned].own_score(), abs=1e-4)
    assert numbers["declared_base"] == pytest.approx(sides[1 - tuned].own_score(), abs=1e-4)
    assert numbers["difference"] == pytest.approx(numbers["exported"] - numbers["declared_base"], abs=1e-3)
    assert numbers["low"] <= numbers["difference"] <= numbers["high"]
    cell = parse("cls of layer 2", 2)
    assert numbers["same_reading_base"] == pytest.approx(sides[1 - tuned].score(cell), abs=1e-4)
    assert "optimistic" in verdict.sentence().text
    assert verdict.why_not_same == ""


def test_a_trained_head_that_is_no_cell_leaves_its_number_out_and_says_so(findings):
    tuning = Tuning(1, replace(CLS, maps=(PartFacts("Dense", {"width": 32, "activation": "tanh"}),)))
    verdict = judge(findings.found, findings.pairs, findings.comparison, findings.differences.chosen, *WAYS, tuning)
    assert verdict.as_json()["same_reading_base"] is None
    assert "(cls of the last layer → Dense 32 (tanh))" in verdict.why_not_same
    assert verdict.why_not_same.endswith("no score under it.")


def test_the_model_default_is_what_is_declared_else_the_mean_of_the_last_layer(findings):
    plain = replace(findings.comparison.one, own=None, own_title="")
    used = as_used(replace(findings.comparison, one=plain))
    assert (used.one_reading, used.other_reading) == (parse("mean of layer 2", 2), OWN)
    assert as_used(used) is used


def test_the_words_of_a_layer_and_pooling_do_not_change_the_verdict(findings, monkeypatch):
    tuning, gap = Tuning(1, replace(CLS, normalised=True)), findings.differences.chosen
    before = judge(findings.found, findings.pairs, findings.comparison, gap, *WAYS, tuning)
    monkeypatch.setattr(HeadFacts, "words", property(lambda head: "anything of nothing"))
    monkeypatch.setattr(HeadFacts, "stages", ("anything",))
    after = judge(findings.found, findings.pairs, findings.comparison, gap, *WAYS, tuning)
    assert before.same.score == after.same.score == findings.comparison.one.score(parse("cls of layer 2", 2))
    assert after.as_json() == before.as_json()


def test_the_cells_that_changed_most_are_the_ends_of_the_sorted_table(findings):
    rows = cell_rows(findings.comparison, findings.differences, *WAYS)
    gained, lost = most_changed(rows, 2)
    known = sorted(row["difference"] for row in rows if row["difference"] is not None)
    assert [row["difference"] for row in gained] == [one for one in known[::-1][:2] if one > 0]
    assert [row["difference"] for row in lost] == [one for one in known[:2] if one < 0]


def test_the_three_example_pairs_are_the_extremes_of_the_change(findings):
    errors = findings.comparison.rank_errors()
    better, worse, same = errors.examples()
    assert errors.change[better] == errors.change.max() > 0
    assert errors.change[worse] == errors.change.min() < 0
    assert abs(errors.change[same]) == np.abs(errors.change).min()
    assert replace(errors, other=errors.one).examples()[:2] == (None, None)
