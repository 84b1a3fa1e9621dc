"""Test which rows of a set the runs of models were trained on, or that of its base."""

import shutil
from pathlib import Path

import pytest

from explorer.data import sample, sources
from explorer.data.graded.sets import CROSS_FITTED, HELD_OUT
from explorer.data.text_sets import GradedPairs
from explorer.encoding.locate.model_names import find
from explorer.training.record import run_results, used_rows
from tests import trainings

ROWS = 40


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return trainings.furnish(tmp_path_factory.mktemp("place"))


@pytest.fixture(scope="module")
def text(place):
    return trainings.scored_pairs(place.folder, ROWS)


@pytest.fixture(scope="module", autouse=True)
def trained(place, text):
    """Runs on the same rows: all of them cross-fitted, some held out, half of them drawn, and one that goes on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STRATA_RUNS", str(place.runs))

        def train(name, method="cosent", settings=None, **changes):
            changes = {"data": (text,), **changes, "settings": {"steps": 2, **(settings or {})}}
            return trainings.train(trainings.new(place, method, name=name, **changes))

        train("folds", dev=CROSS_FITTED, test=CROSS_FITTED)
        train("held", test=HELD_OUT)
        train("drawn", settings={"rows": 20})
        train("sentences", "simcse")
        train("further", "simcse", model="run:held", data=(str(place.text),))
        yield


@pytest.fixture
def pairs(text):
    return sources.scored_pairs(text)[0]


def used(name, given):
    found = used_rows.in_training_text([find(name)], given)
    return len(found.trained), len(found.seen)


def test_rows_are_found_in_the_text_of_a_run_whatever_their_set_is_called(pairs):
    half = pairs.taken(range(0, ROWS, 2), "a half")
    renamed = GradedPairs("other", pairs.second, pairs.first, pairs.gold[::-1], pairs.parts)
    for given in (pairs, half, renamed, run_results.load_test_rows(sources.identity("test rows of run:folds"))):
        assert used("run:folds", given) == (len(given), 0)
        assert used_rows.in_training_text([find("run:folds")], given).none_left
    assert used("run:folds", sample.pairs()) == (0, 0)


def test_rows_that_a_run_held_out_or_did_not_draw_are_not_among_them(pairs):
    held = run_results.load_test_rows(sources.identity("test rows of run:held"))
    assert used("run:held", held) == (0, 0)
    assert used("run:held", pairs) == (ROWS - len(held), 0)
    assert used("run:drawn", pairs) == (20, 0)


def test_sentences_are_seen_without_their_scores(pairs):
    assert used("run:sentences", pairs) == (0, ROWS)


def test_what_the_base_was_trained_on_counts_also_under_another_name(place, pairs):
    before = used("run:further", pairs)
    assert before == used("run:held", pairs)
    (place.runs / "held").rename(place.runs / "renamed")
    try:
        assert used("run:further", pairs) == before
        (place.runs / "further").rename(place.runs / "held")  # whose recipe now names itself
        try:
            assert used("run:held", pairs) == before
        finally:
            (place.runs / "held").rename(place.runs / "further")
        shutil.copytree(place.runs / "sentences", place.runs / "held")  # another model of this name
        assert used("run:further", pairs) == before
        shutil.rmtree(place.runs / "held")
    finally:
        (place.runs / "renamed").rename(place.runs / "held")


def test_the_rows_of_several_models_are_joined(place, pairs):
    both = [find(str(place.model)), find("run:drawn"), find("run:held")]
    drawn, held = (used_rows.in_training_text([one], pairs).trained for one in both[1:])
    assert used_rows.in_training_text(both, pairs).trained == drawn | held
    assert not used_rows.in_training_text(both[:1], pairs)


def test_of_several_seeds_the_rows_are_those_of_the_weights_that_were_kept(place, text, pairs):
    few = {"steps": 2, "rows": 10, "keep_steps": True}
    run = trainings.train(trainings.new(place, "cosent", name="seeds", data=(text,), seeds=(1, 2, 3), settings=few))
    best = max(run.status().results, key=lambda one: one.selection_score)
    of_seed = {
        seed: used_rows.in_training_text([find(f"run:seeds@seed-{seed}-step-2")], pairs).trained for seed in (1, 2, 3)
    }
    assert {len(rows) for rows in of_seed.values()} == {10}
    assert len(set(of_seed.values())) == 3, "the premise"
    assert used_rows.in_training_text([find("run:seeds")], pairs).trained == of_seed[best.seed]


def test_a_model_that_equals_its_base_was_trained_on_nothing_and_its_checkpoints_were(place, text, pairs):
    dev = trainings.solved_pairs(place, place.folder / "solved.csv")
    how = {"steps": 2, "keep_base": True, "keep_steps": True}
    run = trainings.train(trainings.new(place, "cosent", name="nothing", data=(text,), dev=str(dev), settings=how))
    assert run.status().facts.nothing, "the premise"
    assert used("run:nothing", pairs) == (0, 0)
    assert used("run:nothing@step-2", pairs) == (ROWS, 0)


def test_rows_that_were_held_out_to_choose_the_checkpoint_and_those_trained_on_leave_none(place, text, pairs):
    trainings.train(trainings.new(place, "cosent", name="chose", data=(text,), dev=HELD_OUT, settings={"steps": 2}))
    found = used_rows.used([find("run:chose")], pairs, run_results.load_set)
    assert len(found.chosen) == ROWS - len(found.trained) > 0
    assert found.none_left


def test_of_a_text_that_was_changed_nothing_is_known(pairs, text, place):
    trainings.train(trainings.new(place, "cosent", name="changed", data=(text,), settings={"steps": 2}))
    before = Path(text).read_text(encoding="utf-8")
    try:
        Path(text).write_text(before.replace("\n4,", "\n3,"), encoding="utf-8")
        assert used("run:changed", pairs) == (0, 0)
        assert used_rows.in_training_text([find("run:changed")], pairs).unknown == ("changed",)
    finally:
        Path(text).write_text(before, encoding="utf-8")
    assert used("run:changed", pairs) == (ROWS, 0), "the text is there again"
