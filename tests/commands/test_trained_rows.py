"""Test that `compare` and `score` say which rows a model was trained on, and judge no model by them."""

import json
from pathlib import Path

import pytest

import strata
from explorer.data.graded.sets import CROSS_FITTED
from tests import trainings

ROWS = 40


@pytest.fixture(scope="module")
def text(place):
    """The rows that two runs cross-fitted."""
    text = trainings.scored_pairs(place.folder, ROWS)
    for name, method in (("folds", "cosent"), ("other-folds", "cosine-regression")):
        folds = {"data": (text,), "dev": CROSS_FITTED, "test": CROSS_FITTED}
        trainings.train(trainings.new(place, method, name=name, settings={"steps": 2}, **folds))
    return text


def test_two_models_that_were_trained_on_all_rows_are_not_judged_by_them(said, answered, text):
    words = ("compare", "run:folds", "run:other-folds", "--on", text)
    assert said(*words)[1].startswith("No test: a model was trained on all of ")
    found = answered(*words, "--json")
    assert (found["verdict"]["kind"], found["verdict"]["in_training_text"]) == ("trained on", ROWS)
    assert found["verdict"]["difference"] is not None
    assert found["verdict"]["low"] is None
    assert {cell["significant"] for cell in found["cells"]} == {None}
    code, out, _ = said(*words, "--fail-if-worse")
    assert (code, "was trained on the whole set" in out) == (2, True)


def test_a_tuned_model_is_judged_by_its_folds_and_nothing_else_on_these_rows_is_significant(place, said, answered):
    words = ("compare", place.model, "run:folds", "--on", "test rows of run:folds")
    out = said(*words)[1]
    assert "by a model that was not trained on it" in out
    assert "significant" not in out
    found = answered(*words, "--json")
    assert found["verdict"]["kind"] in ("better", "worse", "chance")
    assert found["where"] == ""
    assert {cell["significant"] for cell in found["cells"]} == {None}


def test_what_tests_the_tuned_model_is_named_where_all_rows_were_trained_on(place, said, text):
    assert "compare on test rows of run:folds." in said("compare", place.model, "run:folds", "--on", text)[1]
    words = ("compare", place.model, "run:folds", "--on", "test rows of run:folds", "--metric", "Pearson")
    out = said(*words)[1]
    assert "judged these rows by Spearman, of all rows" in out
    assert "compare on" not in out


def test_of_a_text_that_was_changed_it_is_said_that_nothing_is_known(place, said, answered, text):
    before = Path(text).read_text(encoding="utf-8")
    try:
        Path(text).write_text(before.replace("\n4,", "\n3,"), encoding="utf-8")
        words = ("compare", place.model, "run:folds", "--on", place.test)
        assert "The training text of run 'folds' cannot be read as it was" in said(*words)[1]
        assert answered(*words, "--json")["verdict"]["unknown_training_text"] == ["folds"]
    finally:
        Path(text).write_text(before, encoding="utf-8")


def test_scores_say_how_many_rows_were_trained_on(said, answered, text, place):
    told = f"All {ROWS} test pairs are in the training text"
    assert told in said("score", "run:folds", "--on", text)[1]
    assert answered("score", "run:folds", "--on", text, "--json")["in_training_text"] == ROWS
    scores = strata.score("run:folds", text)
    assert scores.trained_on == ROWS
    assert told in repr(scores)
    assert "in_training_text" not in json.dumps(answered("score", str(place.model), "--on", text, "--json"))
