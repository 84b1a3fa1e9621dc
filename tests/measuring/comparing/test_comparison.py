"""Test the differences of two encoders and of the checkpoints of a run: common cells, tables and verdict."""

import json
from dataclasses import replace

import numpy as np
import pytest

from explorer.data import sample
from explorer.encoding.locate.model_names import Found, find
from explorer.encoding.read.head_facts import HeadFacts, PartFacts
from explorer.encoding.read.pooling import DECODER_POOLINGS, OWN, Row, parse, readings
from explorer.errors import BadChoice
from explorer.in_words import rounded
from explorer.measuring.comparing import comparison_verdict
from explorer.measuring.comparing.comparison import Comparison, as_used, cell_rows, chosen_row, most_changed
from explorer.measuring.comparing.comparison_report import Findings, as_json, as_text, chosen, difference_text
from explorer.measuring.comparing.comparison_verdict import Tuning, judge, judged
from explorer.measuring.comparing.step_scores import changes, score_steps, step_rows
from explorer.measuring.scores import power
from explorer.measuring.scores.bootstrap import Interval, difference
from explorer.measuring.scores.measure import Settings, load_encoder, measure, shelf_key, store_scores
from explorer.measuring.scores.verdict import Verdict
from explorer.progress import Progress, finish
from tests.drawing import made_up
from tests.drawing.made_up import CLS
from tests.shown_numbers import difference as shown_difference
from tests.spoiling import reweigh
from tests.tiny_models import save_tiny

LAST = parse("mean of layer 6", 6)


@pytest.fixture
def moved(bundled_scores):
    """The same encoder, its cosines a little disturbed."""
    noise = np.random.default_rng(0).normal(size=bundled_scores.cosines.shape).astype(np.float32) * 0.05
    return replace(bundled_scores, cosines=bundled_scores.cosines + noise, own=bundled_scores.own + noise[0, 0])


@pytest.fixture
def comparison(bundled_scores, moved):
    return Comparison(bundled_scores, moved, LAST, parse("cls of layer 6", 6), resamples=40)


def test_cells_and_chosen_readings_are_differences_of_their_own_scores(comparison):
    grid = comparison.grid()
    one, other = comparison.one.table(), comparison.other.table()
    assert np.allclose(grid.difference, other - one, atol=1e-3, equal_nan=True)
    chosen = comparison.chosen()
    expected = comparison.other.score(comparison.other_reading) - comparison.one.score(LAST)
    assert float(chosen.difference) == pytest.approx(expected, abs=1e-3)


def test_the_models_own_readings_can_be_compared_and_scores_of_different_pairs_cannot(bundled_scores, moved):
    found = Comparison(bundled_scores, moved, OWN, OWN, resamples=30).chosen()
    slow = difference(bundled_scores.gold, bundled_scores.own, moved.own, resamples=30)
    assert (float(found.low), float(found.high)) == (float(slow.low), float(slow.high))
    without = replace(moved, own=None)
    with pytest.raises(BadChoice, match="declares no model default"):
        Comparison(bundled_scores, without, LAST, OWN).chosen()
    other = replace(moved, gold=moved.gold[::-1].copy())
    with pytest.raises(BadChoice, match="scored on different pairs"):
        Comparison(bundled_scores, other, LAST, LAST)


@pytest.mark.parametrize("reading", ["mean of layer 6", "max of layers 0 + 6", "model default"])
def test_one_draw_for_all_gives_the_numbers_of_a_draw_for_each(bundled_scores, moved, reading):
    comparison = Comparison(bundled_scores, moved, parse(reading, 6), parse(reading, 6), resamples=20)
    found = comparison.differences()
    for together, alone in (
        (found.grid, comparison.grid()),
        (found.own, comparison.own()),
        (found.chosen, comparison.chosen()),
    ):
        assert np.shape(together.low) == np.shape(alone.low)
        for side in ("difference", "low", "high"):
            assert np.array_equal(getattr(together, side), getattr(alone, side), equal_nan=True)


def test_cells_of_another_depth_or_of_a_decoder_are_not_the_same(bundled_scores, moved):
    deep = replace(moved, rows=(*moved.rows[:3], Row((0, 2))), cosines=moved.cosines[:4])
    comparison = Comparison(bundled_scores, deep, LAST, parse("mean of layer 2", 2), resamples=20)
    assert comparison.rows == ()
    assert np.isfinite(comparison.chosen().low)
    with pytest.raises(BadChoice, match="A has 6 layers and B 2: cell by cell they cannot be compared"):
        comparison.grid()
    decoder = replace(moved, poolings=DECODER_POOLINGS)
    comparison = Comparison(bundled_scores, decoder, LAST, parse("last of layer 6", 6), resamples=20)
    assert comparison.rows == ()
    assert "The grid of A has cls, mean, max, and that of B last, mean, max" in comparison.why_no_cells
    found = comparison.differences()
    assert found.grid is None
    assert np.isfinite(found.chosen.low)
    with pytest.raises(BadChoice, match="one of them is a decoder: cell by cell they cannot be compared"):
        comparison.grid()


def test_a_layer_and_pooling_outside_of_the_grid_has_an_interval(bundled_scores, moved):
    outside = parse("mean of layers 4-6", 6)
    one, other = (replace(scores, also={outside: scores.cosines_of(LAST)}) for scores in (bundled_scores, moved))
    found = Comparison(one, other, outside, outside, resamples=40).differences()
    expected = Comparison(one, other, LAST, LAST, resamples=40).differences()
    assert found.grid is not None
    for side in ("difference", "low", "high"):
        assert getattr(found.chosen, side) == getattr(expected.chosen, side)


def test_tables_say_what_the_comparison_says(comparison):
    differences = comparison.differences()
    grid, chosen = differences.grid, differences.chosen
    rows = cell_rows(comparison, differences, "Spearman", "all")
    assert len(rows) == grid.difference.size + 1
    last = next(row for row in rows if row["layer & pooling"] == "mean of layer 6")
    place = comparison.one.place(LAST)
    assert last["difference"] == pytest.approx(grid.difference[place], abs=1e-4)
    assert last["significant"] == bool(grid.sure[place])
    assert rows[0]["layer & pooling"] == "cls of layer 0"
    assert rows[0]["difference"] is None
    assert chosen_row(comparison, chosen, "Spearman", "all")["layer & pooling B"] == "cls of layer 6"
    found = tuple(Found(name, None, name * 4) for name in ("one", "other"))
    findings = Findings(found, sample.pairs(), comparison, differences, "Spearman", "all")
    told = json.loads(as_json(findings))
    assert (told["cells"], told["A"]["model"]) == (rows, "one")
    assert told["B"]["max_length"] == comparison.other.max_length
    assert told["chosen"]["low"] == pytest.approx(float(chosen.low), abs=1e-4)
    assert set(told["versions"]) >= {"python", "torch", "transformers"}
    assert "geometry" not in told
    text = as_text(findings)
    sides = (comparison.one, LAST), (comparison.other, comparison.other_reading)
    assert difference_text(tuple(scores.score(reading) for scores, reading in sides), chosen) in text
    assert shown_difference(*(scores.score(LAST) for scores in (comparison.one, comparison.other))) in text
    assert text.count("*") == grid.sure.sum() + bool(differences.own.sure) + 1


def test_the_row_of_their_own_readings_is_there_where_both_declare_one(comparison, moved):
    row = cell_rows(comparison, comparison.differences(), "Spearman", "all")[-1]
    slow = difference(comparison.one.gold, comparison.one.own, moved.own, resamples=40)
    assert row["layer & pooling"] == "model default"
    assert (row["low"], row["high"]) == (round(float(slow.low), 4), round(float(slow.high), 4))
    assert row["A"] == pytest.approx(comparison.one.own_score(), abs=1e-4)
    without = replace(comparison, other=replace(moved, own=None))
    assert without.own() is None
    rows = cell_rows(without, without.differences(), "Spearman", "all")
    assert "model default" not in [row["layer & pooling"] for row in rows]


WAYS = ("Spearman", "all")


@pytest.fixture(scope="module")
def findings():
    return made_up.findings()


def test_two_models_are_judged_as_they_are_read_else_by_the_mean_of_the_last_layer(findings):
    row, numbers = chosen(findings), comparison_verdict.as_json(findings.verdict)
    assert (numbers["before"]["score"], numbers["after"]["score"]) == (row["A"], row["B"])
    assert all(numbers[name] == row[name] for name in ("difference", "low", "high"))
    assert numbers["kind"] == ("better" if row["low"] > 0 else "worse" if row["high"] < 0 else "chance")
    assert "declared_base" not in numbers
    used = as_used(replace(findings.comparison, one=replace(findings.comparison.one, own=None, own_title="")))
    assert (used.one_reading, used.other_reading) == (parse("mean of layer 2", 2), OWN)
    assert as_used(used) is used


@pytest.mark.parametrize("tuned", [0, 1])
def test_a_tuned_model_is_judged_against_its_base_whichever_side_it_is_on(findings, tuned):
    tuning = Tuning(tuned, replace(CLS, normalised=True), optimistic=True)
    comparison = judged(findings.comparison, tuning)
    assert (comparison.one_reading, comparison.other_reading) == (OWN, OWN), "as people use them"
    verdict = judge(findings.found, findings.pairs, comparison, comparison.chosen(*WAYS), *WAYS, tuning)
    sides = comparison.one, comparison.other
    numbers = comparison_verdict.as_json(verdict)
    assert numbers["exported"] == pytest.approx(sides[tuned].own_score(), abs=1e-4)
    assert numbers["declared_base"] == pytest.approx(sides[1 - tuned].own_score(), abs=1e-4)
    assert numbers["difference"] == pytest.approx(numbers["exported"] - numbers["declared_base"], abs=1e-3)
    assert numbers["low"] <= numbers["difference"] <= numbers["high"]
    base = sides[1 - tuned].own_items(WAYS[0])
    spread = power.of_pairs(comparison.one.gold, base, comparison.chosen(*WAYS))
    assert numbers["smallest_gain"] == rounded(spread.smallest_gain())
    assert numbers["items_needed"] == spread.items_needed(verdict.score.difference)
    assert numbers["same_reading_base"] == pytest.approx(sides[1 - tuned].score(parse("cls of layer 2", 2)), abs=1e-4)
    assert "optimistic" in verdict.sentence().text
    assert comparison_verdict.why_not_same(verdict) == ""


def test_on_rows_of_folds_the_verdict_is_the_runs_and_under_another_measure_the_score_is_optimistic(findings):
    of_folds = Verdict.of(70.0, 71.0, Interval(1.0, -1.0, 3.0))
    tuning = Tuning(1, replace(CLS, normalised=True), optimistic=True, folds=of_folds, folds_by="Spearman")
    gap = findings.comparison.chosen(*WAYS)
    verdict = judge(findings.found, findings.pairs, findings.comparison, gap, *WAYS, tuning)
    assert (verdict.score, verdict.after.score, verdict.optimistic) == (of_folds, 71.0, False)
    assert "of the run's folds" in verdict.why_optimistic
    ways = "Pearson", "all"
    other = judge(findings.found, findings.pairs, findings.comparison, findings.comparison.chosen(*ways), *ways, tuning)
    assert other.after.score == pytest.approx(findings.comparison.other.own_score("Pearson"), abs=1e-4)
    assert (other.optimistic, other.why_optimistic) == (True, "")


def test_a_trained_head_that_is_no_cell_leaves_its_number_out_and_says_so(findings):
    tuning = Tuning(1, replace(CLS, maps=(PartFacts("Dense", {"width": 32, "activation": "tanh"}),)))
    verdict = judge(findings.found, findings.pairs, findings.comparison, findings.differences.chosen, *WAYS, tuning)
    assert comparison_verdict.as_json(verdict)["same_reading_base"] is None
    assert "(cls of the last layer → Dense 32 (tanh))" in comparison_verdict.why_not_same(verdict)
    assert comparison_verdict.why_not_same(verdict).endswith("no score under it.")


def test_the_words_of_a_layer_and_pooling_do_not_change_the_verdict(findings, monkeypatch):
    tuning, gap = Tuning(1, replace(CLS, normalised=True)), findings.differences.chosen
    before = judge(findings.found, findings.pairs, findings.comparison, gap, *WAYS, tuning)
    monkeypatch.setattr(HeadFacts, "words", property(lambda head: "anything of nothing"))
    monkeypatch.setattr(HeadFacts, "stages", ("anything",))
    after = judge(findings.found, findings.pairs, findings.comparison, gap, *WAYS, tuning)
    assert before.same.score == after.same.score == findings.comparison.one.score(parse("cls of layer 2", 2))
    assert comparison_verdict.as_json(after) == comparison_verdict.as_json(before)


def test_the_cells_that_changed_most_and_the_three_example_pairs_are_the_ends(findings):
    rows = cell_rows(findings.comparison, findings.differences, *WAYS)
    gained, lost = most_changed(rows, 2)
    assert any(row["significant"] for row in rows), "the premise"
    for direction, most in ((1, gained), (-1, lost)):
        left = [row for row in rows if row["difference"] is not None and direction * row["difference"] > 0]
        certain = sorted((row for row in left if row["significant"]), key=lambda row: -direction * row["difference"])
        others = sorted((row for row in left if not row["significant"]), key=lambda row: -direction * row["difference"])
        assert most == [*certain, *others][:2], "certain changes first"
    errors = findings.comparison.rank_errors()
    better, worse, same = errors.examples()
    assert errors.change[better] == errors.change.max() > 0
    assert errors.change[worse] == errors.change.min() < 0
    assert abs(errors.change[same]) == np.abs(errors.change).min()
    assert replace(errors, other=errors.one).examples()[:2] == (None, None)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Three folders, of which the first and the last hold the same model."""
    folders = [tmp_path_factory.mktemp("models") / str(number) for number in range(3)]
    for number, folder in enumerate(folders):
        save_tiny("bert", folder)
        if number == 1:
            reweigh(folder, lambda weights: {name: weight * 1.5 for name, weight in weights.items()})
    return [str(folder) for folder in folders]


def test_each_model_is_loaded_once_and_what_is_on_the_shelf_not_at_all(models, monkeypatch, tmp_path):
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path))
    loaded = []

    def load(found, settings):
        loaded.append(found.digest)
        return load_encoder(found, settings)

    told: list[Progress] = []
    scores = finish(score_steps(models, sample.pairs(), Settings(), load), told.append)
    assert len(loaded) == len(set(loaded)) == 2
    assert np.array_equal(scores[0].cosines, scores[2].cosines, equal_nan=True)
    assert not np.array_equal(scores[0].cosines, scores[1].cosines, equal_nan=True)
    reading = [one for one in told if one.text.startswith("encoding tokens")]
    assert {(one.stage, one.total) for one in reading} == {("encoding tokens with 2 models", reading[-1].total)}
    done = [one.done for one in reading]
    assert (done, done[-1]) == (sorted(done), reading[-1].total)
    again = finish(score_steps(models, sample.pairs(), Settings(), load))
    assert len(loaded) == 2
    for one, other in zip(scores, again, strict=True):
        assert np.array_equal(one.cosines, other.cosines, equal_nan=True)


def test_steps_are_compared_in_one_precision_wherever_scores_were_stored_before(models, monkeypatch, tmp_path):
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path))
    first = find(models[0])
    here = finish(measure(first, sample.pairs(), Settings()))
    elsewhere = replace(here, precision="bfloat16", device="cuda", device_name="NVIDIA H100")
    store_scores(shelf_key(first, sample.pairs(), Settings()), elsewhere)
    again = finish(measure(first, sample.pairs(), Settings()))
    assert (again.device, again.where) == ("cuda", "NVIDIA H100"), "they say what they were computed in"
    assert replace(again, device_name="").where == "a GPU", "as of scores that were stored by an earlier version"
    scores = finish(score_steps(models[:2], sample.pairs(), Settings()))
    assert len({(one.precision, one.device) for one in scores}) == 1


def test_a_layer_and_pooling_outside_of_the_grid_is_followed_over_the_steps(models, monkeypatch, tmp_path):
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path))
    asked = parse("last of layers 0-2", 2)
    plain = finish(score_steps(models[:2], sample.pairs(), Settings("float32")))
    scores = finish(score_steps(models[:2], sample.pairs(), Settings("float32"), also=[asked]))
    assert all(np.array_equal(one.cosines, with_it.cosines) for one, with_it in zip(plain, scores, strict=True))
    first, second = finish(changes(scores, "Spearman", "all"))
    assert (first.of(asked, scores[0]).difference, first.of(asked, scores[0]).low) == (0, 0)
    slow = scores[1].score(asked) - scores[0].score(asked)
    assert second.of(asked, scores[1]).difference == pytest.approx(slow, abs=1e-4)
    assert second.of(asked, scores[1]).low < slow < second.of(asked, scores[1]).high


@pytest.fixture(scope="module")
def steps(bundled_scores):
    drawn = np.random.default_rng(0)
    noise = [drawn.normal(size=bundled_scores.cosines.shape).astype(np.float32) * far for far in (0.1, 0.3)]
    moved = [bundled_scores.cosines + one for one in noise]
    return (bundled_scores, *(replace(bundled_scores, cosines=cosines) for cosines in moved))


def test_what_changed_is_the_difference_to_the_first_step_with_its_interval(steps):
    found = finish(changes(steps, "Spearman", "all"))
    widest = [0.0] * 3
    for place, (now, change) in enumerate(zip(steps, found, strict=True)):
        for reading in [*readings(6), OWN]:
            slow = now.score(reading) - steps[0].score(reading)
            interval = change.of(reading, now)
            assert float(interval.difference) == pytest.approx(slow, abs=1e-4, nan_ok=True)
            if np.isfinite(slow):
                widest[place] = max(widest[place], abs(slow))
                assert interval.low <= interval.high
        assert change.widest == pytest.approx(widest[place], abs=1e-4)
    assert widest[0] == 0 < widest[1] < widest[2]
    slow = Comparison(steps[0], steps[1], LAST, LAST).chosen()
    fast = found[1].of(LAST, steps[1])
    assert [float(fast.low), float(fast.high)] == pytest.approx([float(slow.low), float(slow.high)])


def test_a_first_step_has_no_difference_to_itself_and_none_where_it_has_no_score(steps):
    constant = steps[0].cosines.copy()
    constant[0, 0] = 0.5
    first = replace(steps[0], cosines=constant, own=None)
    (change,) = finish(changes([first], "Spearman", "all"))
    assert np.isnan(change.grid.difference[0, 0])
    assert np.isnan(change.grid.low[0, 0])
    assert not np.nan_to_num(change.grid.difference).any()
    assert not change.grid.sure.any()
    assert np.isnan(change.of(OWN, first).difference)
    assert change.widest == 0


def test_a_step_without_a_score_has_no_difference_and_steps_of_two_depths_are_no_run(steps):
    cosines = steps[1].cosines.copy()
    cosines[3, 0] = np.nan
    _, change = finish(changes([steps[0], replace(steps[1], cosines=cosines)], "Spearman", "all"))
    assert np.isnan([side[3, 0] for side in (change.grid.difference, change.grid.low, change.grid.high)]).all()
    assert not change.grid.sure[3, 0]
    assert np.isfinite(change.widest)
    shorter = replace(steps[0], rows=steps[0].rows[:3], cosines=steps[0].cosines[:3])
    with pytest.raises(BadChoice, match="not from one run"):
        finish(changes([steps[0], shorter], "Spearman", "all"))


def test_the_table_has_every_reading_of_every_step(steps):
    rows = step_rows((0, 5, 9), steps)
    assert len(rows) == 3 * (len(readings(6)) + 1)
    for row in rows:
        if row["reading"] == LAST.title:
            assert row["spearman"] == pytest.approx(steps[(0, 5, 9).index(row["step"])].score(LAST), abs=1e-4)
