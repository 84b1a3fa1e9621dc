"""Test runs of SBERT on labelled pairs: all rows train, the dev set chooses, and the classifier is gone afterwards."""

import pytest

from explorer.data import corpora
from explorer.data.text_sets import LABELLED_TEXTS
from explorer.errors import WrongColumns
from explorer.run_folder import Evaluation
from explorer.training.record.status import INTERRUPTED
from explorer.training.saved_model import CLASSIFIER
from tests.training.test_labelled_runs import labelled_file
from tests.training.unbroken import assert_same, break_off
from tests.trainings import new, train, weights

SETTINGS = {"steps": 8, "evaluate_every": 2, "batch_size": 8, "max_length": 24, "uncorrected_adam": True}


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return labelled_file(tmp_path_factory.mktemp("labelled"))


@pytest.fixture(scope="module")
def whole(place, file):
    stages = []
    run = new(place, "sbert-nli", data=(file,), seeds=(1, 2), settings=SETTINGS)
    return train(run, lambda told: stages.append(told.stage)), stages


def test_all_rows_train_and_the_dev_set_chooses(whole, file):
    run, _ = whole
    made = run.recipe().made_with
    rows, _ = corpora.corpus([file], LABELLED_TEXTS, divide=False)
    assert (made["data_rows"], made["held_out_rows"], made["data_digest"]) == (120, 0, rows.digest)
    for number, result in enumerate(run.status().results, start=1):
        lines = [line for line in run.metrics() if isinstance(line, Evaluation) and line.number == number and line.step]
        assert {line.held_out for line in lines} == {None}
        best = max(lines, key=lambda line: line.dev)
        assert (result.best_step, result.dev, result.criterion, result.classes) == (best.step, best.dev, None, None)


def test_the_classifier_is_gone_afterwards(whole):
    run, _ = whole
    assert not (run.model / CLASSIFIER).exists()
    assert not any("classifier" in name for name in weights(run))
    assert "## Classification" not in (run.folder / "README.md").read_text()
    assert not (run.folder / "predictions").exists()


@pytest.mark.parametrize("share", [0.4, 0.8])
def test_a_run_that_was_broken_off_ends_as_if_it_never_was(place, file, whole, share):
    expected, stages = whole
    run = new(place, "sbert-nli", data=(file,), seeds=(1, 2), settings=SETTINGS)
    break_off(run, int(share * len(stages)))
    assert run.status().state == INTERRUPTED
    train(run)
    assert_same(run, expected)


def test_rows_of_one_sentence_are_refused_before_a_model_is_loaded(place, tmp_path):
    texts = labelled_file(tmp_path, pairs=False)
    with pytest.raises(WrongColumns, match=r"texts\.tsv has one sentence per row"):
        train(new(place, "sbert-nli", data=(texts,), model=str(place.folder / "nowhere"), settings=SETTINGS))
