"""Test that the rows which a run held out for its test are an evaluation set again, and the same."""

import pytest

from explorer.data.graded.sets import SetIdentity, SetKind
from explorer.data.retrieval_sets import RetrievalSet
from explorer.data.sources import HELD_OUT
from explorer.errors import SetNotFound
from explorer.training.record import run_results
from tests import trainings

MINE = SetIdentity(SetKind.TEST_ROWS, "mine")


@pytest.fixture
def place(tmp_path, monkeypatch):
    place = trainings.furnish(tmp_path)
    rows = "\n".join(f"a question about {n} things,the answer of {n} words" for n in range(60))
    place.triplets.write_text(f"query,passage\n{rows}\n", encoding="utf-8")
    monkeypatch.setenv("STRATA_RUNS", str(place.runs))
    return place


def test_they_are_listed_by_the_name_of_their_run_and_are_what_it_was_tested_on(place):
    plain = trainings.train(trainings.new(place, "contrast", "plain", settings={"steps": 2}))
    run = trainings.train(trainings.new(place, "contrast", "mine", dev=HELD_OUT, test=HELD_OUT, settings={"steps": 2}))
    assert run_results.test_rows_of(plain) is None
    assert run_results.latest_test_rows() == (MINE,)
    found = run_results.load_test_rows(MINE)
    assert isinstance(found, RetrievalSet)
    assert found.digest == run.recipe().digest_of("test")
    assert len(found) == run.status().facts.size_of("test")
    assert found.name == "test rows of run:mine"


def test_rows_of_a_text_that_was_changed_since_are_refused(place):
    trainings.train(trainings.new(place, "contrast", "mine", dev=HELD_OUT, test=HELD_OUT, settings={"steps": 2}))
    lines = place.triplets.read_text(encoding="utf-8").splitlines()
    place.triplets.write_text("\n".join([*lines, "one more question,and its answer"]) + "\n", encoding="utf-8")
    with pytest.raises(SetNotFound, match="was changed since"):
        run_results.load_test_rows(MINE)


def test_labelled_rows_come_with_those_that_a_classifier_is_trained_on(place):
    rows = "\n".join(f"sentence number {n} of some words,{'good' if n % 2 else 'bad'}" for n in range(200))
    place.text.write_text(f"text,label\n{rows}\n", encoding="utf-8")
    run = trainings.train(trainings.new(place, "classify", "classes", settings={"steps": 2}))
    found = run_results.load_test_rows(run_results.test_rows_of(run))
    assert {name: len(rows) for name, rows in found.splits.items()} == {"train": 160, "dev": 20, "test": 20}
