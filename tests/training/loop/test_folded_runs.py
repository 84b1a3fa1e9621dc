"""Test runs in folds that are stopped, killed and refused, what they estimate, and what they say of the folds."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from explorer.data.sources import CROSS_FITTED
from explorer.errors import BadChoice, TooFewRows
from explorer.measuring.comparing.nothing_learned import IN_FOLDS
from explorer.progress import Phase, finish
from explorer.run_folder import Evaluation
from explorer.training import running
from explorer.training.loop.estimate import try_out
from explorer.training.recipe import Recipe
from explorer.training.record import recorder, runs
from explorer.training.record.runs import KEEP
from explorer.training.record.status import STOPPED
from tests.training.fold_runs import FOLDS, SHORT, STEPS, given
from tests.training.unbroken import assert_goes_on, assert_same
from tests.trainings import few_shares, new, recipe, solved_pairs, train, weights

FOLD, TRAINING, LOOK, BEST = Phase.EVALUATING_HELD_OUT, Phase.TRAINING, Phase.EVALUATING_DEV, Phase.EVALUATING_BEST


@pytest.fixture(scope="module")
def short(place, text):
    """A run of few steps that nobody touched."""
    return train(new(place, "cosent", **given(text, steps=SHORT)))


def last_step(run) -> int:
    return int(run.status().results[0].steps)


@pytest.mark.parametrize("kind", ["whole_of_folds", "with_shares"])
def test_a_run_that_is_broken_off_in_a_fold_between_folds_or_in_the_last_training_ends_the_same(kind, request):
    run = request.getfixturevalue(kind)
    if kind == "whole_of_folds":  # in the first of its seeds once: all such places are those of the other run
        places = [(1, SHORT, LOOK), (2, 2 * SHORT, LOOK), (2, FOLDS * SHORT + 1, TRAINING)]
    else:
        places = [(1, STEPS + 3, TRAINING), (1, FOLDS * STEPS, LOOK)]
        places += [(1, FOLDS * STEPS + 1, TRAINING), (1, last_step(run), BEST)]
        places += [(1, STEPS, FOLD, FOLD), (1, 2 * STEPS, FOLD, TRAINING)]
    with few_shares():
        ends = assert_goes_on(run, *sorted(places, key=lambda place: place[:2]))
    assert np.array_equal(recorder.items(ends, 1), recorder.items(run, 1))
    assert ends.status().facts.folds == run.status().facts.folds


@pytest.mark.parametrize("save_every", [60.0, 0.0], ids=["saved between folds", "saved at every step"])
def test_a_run_whose_process_is_killed_goes_on_from_what_is_on_disk_and_ends_the_same(
    place, short, save_every, monkeypatch
):
    """Killed at the end of the first fold, in the second, and in the last training."""
    monkeypatch.setattr("explorer.training.loop.loop.SAVE_EVERY", save_every)
    run = runs.new(replace(short.recipe(), made_with={}), "", place.runs)
    for step in (SHORT, SHORT + 2, FOLDS * SHORT + 1):
        work = running.train(run)
        while next(work).stage is not TRAINING or run.status().step < step:
            pass
        killed = shutil.copytree(run.folder, place.runs / f"{run.name}-{step}")  # as it is between two steps
        work.close()
        run.delete()
        run = runs.Run(killed)
    train(run)
    assert_same(run, short)
    assert np.array_equal(recorder.items(run, 1), recorder.items(short, 1))
    run.delete()


def test_of_several_seeds_the_first_is_kept_since_the_rows_that_judge_them_choose_none(whole_of_folds):
    first, second = whole_of_folds.status().results
    assert (first.seed, second.seed) == (1, 2)
    assert whole_of_folds.status().verdict == first.verdict
    assert first.verdict != second.verdict


def stopped_at(run, step):
    def ask(progress):
        if (progress.stage, progress.done) == (TRAINING, step):
            run.request_stop(KEEP)

    train(run, ask)
    assert run.status().state == STOPPED


def test_stop_in_a_fold_keeps_no_model_in_the_last_training_the_one_so_far_and_both_go_on(place, short):
    run = runs.new(replace(short.recipe(), made_with={}), "", place.runs)
    stopped_at(run, SHORT + 2)
    assert not run.has_model
    stopped_at(run, FOLDS * SHORT + 1)
    assert run.has_model
    assert run.status().verdict.test.after is None, "no row is judged by all folds' choice before the run is over"
    train(run)
    assert_same(run, short)


def test_the_base_is_saved_and_nothing_was_learned_where_it_is_best_in_most_folds(place, tmp_path):
    text = solved_pairs(place, tmp_path / "solved.csv", 18)
    run = train(new(place, "cosent", **given(str(text), learning_rate=1e-2, keep_base=True)))
    (result,) = run.status().results
    below = sum(fold.scores[0] > max(fold.scores[1:]) for fold in result.folds)
    nothing = run.status().facts.nothing
    assert below * 2 > FOLDS, "the premise"
    assert (nothing.why, nothing.evaluations, nothing.items) == (IN_FOLDS, below, FOLDS)
    assert 0 <= nothing.excluded < 200
    assert "points is excluded (95 %)" in nothing.reason
    base = load_file(place.model / "model.safetensors")
    assert all(torch.equal(weight, weights(run)[name]) for name, weight in base.items())
    assert run.status().verdict.test.difference is None


def test_the_estimate_counts_every_fold_and_the_training_on_all_rows_of_each_seed(place, text):
    found = finish(try_out(recipe(place, "cosent", seeds=(1, 2), **given(text))))
    assert found.steps == 2 * (FOLDS + 1) * STEPS
    assert found.folds == FOLDS
    assert f"for {FOLDS} folds and all rows" in found.words
    least = found.step_seconds * found.steps
    assert least < found.seconds
    one = finish(try_out(recipe(place, "cosent", **given(text))))
    assert one.steps * 2 == found.steps


def test_the_best_checkpoint_of_a_fold_is_not_said_to_be_that_of_the_run(whole_of_folds):
    status = whole_of_folds.status()
    assert (status.best, status.best_step) == (None, None)
    assert [(one.best_step, one.dev_at_best_step) for one in status.results] == [(None, None)] * 2


def few(tmp_path, *lines):
    path = tmp_path / "few.csv"
    path.write_text("\n".join(["score,sentence1,sentence2", *lines]) + "\n", encoding="utf-8")
    return str(path)


def test_rows_that_all_share_sentences_or_leave_a_fold_without_a_batch_are_refused_before_the_first_update(
    place, tmp_path
):
    linked = few(tmp_path, *(f"{number},a dog {number},a dog {number + 1}" for number in range(6)))
    with pytest.raises(TooFewRows, match=r"The 6 rows of few\.csv cannot be divided .* name another dev set and test"):
        train(new(place, "cosent", **given(linked)))
    # of five rows four are linked: the model that judges these has one to train on
    uneven = few(
        tmp_path, "1,a dog,a man", "2,a dog,a train", "3,a train,the park", "4,the park,a cat", "0,no,red ball"
    )
    run = new(place, "cosent", **given(uneven, batch_size=2))
    message = r"few\.csv without the rows of fold \d of 2 has 1 row to train on, but a batch takes 2\. Use more rows\."
    with pytest.raises(TooFewRows, match=message):
        train(run)
    assert run.metrics() == []
    with pytest.raises(TooFewRows, match=message):
        finish(try_out(recipe(place, "cosent", **given(uneven, batch_size=2))))


@pytest.mark.parametrize(
    ("method", "changes", "message"),
    [
        ("cosent", {"dev": "dev.csv"}, "dev cannot be 'dev.csv' where a test set is 'cross-fitted rows'.*Set dev to"),
        (
            "simcse",
            {},
            "simcse trains on sentences, which cannot be judged by themselves. Choose a set of scored pairs",
        ),
        ("whitening", {}, "whitening trains on sentences, which cannot be judged"),
        ("sbert-nli", {}, "sbert-nli trains on labelled texts, which cannot be judged"),
        ("contrast-hard", {"settings": {"select_by": "both"}}, "select_by cannot be 'both' with .* Set it to dev"),
        ("cosent", {"folds": 1}, "folds cannot be 1"),
        ("cosent", {"folds": 21}, "folds cannot be 21"),
    ],
)
def test_what_cannot_be_cross_fitted_is_refused_with_what_to_do(place, method, changes, message):
    with pytest.raises(BadChoice, match=message):
        recipe(place, method, **({"dev": CROSS_FITTED, "test": CROSS_FITTED} | changes))


def test_folds_of_rows_that_are_not_cross_fitted_are_refused():
    with pytest.raises(BadChoice, match=r"folds cannot be 3: no rows are cross-fitted. Leave folds out, or set dev"):
        Recipe("cosent", folds=3)


def test_stages_cannot_be_cross_fitted(place, text):
    from explorer.training.recipe import Stage

    with pytest.raises(BadChoice, match="cannot be used with stages: each fold would need a model of every stage"):
        recipe(place, "cosent", **given(text), stages=(Stage("tsdae", (text,)),))


def test_status_and_card_name_the_folds(whole_of_folds):
    facts = whole_of_folds.status().facts.folds
    assert facts.words in json.loads((whole_of_folds.folder / "status.json").read_text())["facts"].get("folds", {}).get(
        "words", facts.words
    )
    card = " ".join((whole_of_folds.folder / "README.md").read_text().split())
    assert f"{FOLDS} folds: each of the 24 rows is judged by a model that was not trained on it" in card
    looked = [line for line in whole_of_folds.metrics() if isinstance(line, Evaluation) and line.number == 1]
    assert {line.stage for line in looked} == set(range(1, FOLDS + 2))
    assert all(line.dev is None for line in looked if line.stage == FOLDS + 1), "its rows are trained on"
