"""Test the scores of a run's checkpoints, computed together."""

from dataclasses import replace

import numpy as np
import pytest

from explorer.data import sample
from explorer.encoding.locate.model_names import find
from explorer.encoding.read.pooling import OWN, parse, readings
from explorer.errors import BadChoice
from explorer.measuring.comparing.comparison import Comparison
from explorer.measuring.comparing.step_scores import changes, score_steps, step_rows
from explorer.measuring.scores.measure import Settings, load_encoder, measure, shelf_key, store_scores
from explorer.progress import Progress, finish
from tests.spoiling import reweigh
from tests.tiny_models import save_tiny

LAST = parse("mean of layer 6", 6)


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
    elsewhere = replace(finish(measure(first, sample.pairs(), Settings())), precision="bfloat16", device="cuda")
    store_scores(shelf_key(first, sample.pairs(), Settings()), elsewhere)
    assert finish(measure(first, sample.pairs(), Settings())).device == "cuda", "they say what they were computed in"
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
