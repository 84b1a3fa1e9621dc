"""Test which rows of a set the runs of models were trained on, or that of its base."""

from pathlib import Path

import pytest

from explorer.data import sample, sources
from explorer.data.graded.sets import CROSS_FITTED, HELD_OUT
from explorer.data.shared_rows import SEEN, TRAINED
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
    return found.rows, found.where if found else None


def test_rows_are_found_in_the_text_of_a_run_whatever_their_set_is_called(pairs):
    half = pairs.taken(range(0, ROWS, 2), "a half")
    renamed = GradedPairs("other", pairs.second, pairs.first, pairs.gold[::-1], pairs.parts)
    for given in (pairs, half, renamed, run_results.load_test_rows(sources.identity("test rows of run:folds"))):
        assert used("run:folds", given) == (len(given), TRAINED)
        assert used_rows.in_training_text([find("run:folds")], given).leave_no_test
    assert used("run:folds", sample.pairs()) == (0, None)


def test_rows_that_a_run_held_out_or_did_not_draw_are_not_among_them(pairs):
    held = run_results.load_test_rows(sources.identity("test rows of run:held"))
    assert used("run:held", held) == (0, None)
    assert used("run:held", pairs) == (ROWS - len(held), TRAINED)
    assert used("run:drawn", pairs) == (20, TRAINED)


def test_sentences_are_seen_without_their_scores(pairs):
    assert used("run:sentences", pairs) == (ROWS, SEEN)


def test_what_the_base_was_trained_on_counts_and_of_two_models_the_most(place, pairs):
    assert used("run:further", pairs) == used("run:held", pairs)
    both = [find(str(place.model)), find("run:drawn"), find("run:held")]
    assert used_rows.in_training_text(both, pairs).rows == used("run:held", pairs)[0]
    assert not used_rows.in_training_text(both[:1], pairs)


def test_of_a_text_that_was_changed_nothing_is_known(pairs, text, place):
    trainings.train(trainings.new(place, "cosent", name="changed", data=(text,), settings={"steps": 2}))
    before = Path(text).read_text(encoding="utf-8")
    try:
        Path(text).write_text(before.replace("\n4,", "\n3,"), encoding="utf-8")
        assert used("run:changed", pairs) == (0, None)
    finally:
        Path(text).write_text(before, encoding="utf-8")
    assert used("run:changed", pairs) == (ROWS, TRAINED), "the text is there again"
