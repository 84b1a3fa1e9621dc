"""Test the models that a run keeps at every evaluation."""

import pytest
from safetensors.torch import load_file

from explorer import run_folder
from explorer.data.tables import text_rows
from explorer.encoding.load.loading import load
from explorer.encoding.locate import model_names
from explorer.encoding.read.pooling import OWN
from explorer.errors import ModelNotFound
from explorer.measuring.scores.layer_scores import score_layers
from explorer.progress import finish
from explorer.run_folder import Evaluation
from tests import trainings


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return trainings.furnish(tmp_path_factory.mktemp("place"))


@pytest.fixture(scope="module")
def run(place):
    asked = {"steps": 4, "evaluate_every": 2, "keep_steps": True}
    return trainings.train(trainings.new(place, "simcse", name="kept", settings=asked, test=None))


@pytest.fixture(autouse=True)
def runs_there(place, monkeypatch):
    monkeypatch.setenv("STRATA_RUNS", str(place.runs))


def test_a_kept_step_scores_what_its_look_found(place, run):
    looks = trainings.looks(run)
    assert len(looks) > 2
    dev = text_rows.read_graded_pairs(place.dev)[0]
    for step, score in looks.items():
        encoder = load(model_names.find(f"run:kept@step-{step}"), "float32")
        assert finish(score_layers(encoder, dev)).score(OWN) == pytest.approx(score, abs=1e-3)


def test_the_model_of_a_run_is_that_of_its_best_step(run):
    best = [line.step for line in run.metrics() if isinstance(line, Evaluation) and line.best][-1]
    assert best > 0
    kept = load_file(run.folder / "steps" / f"step-{best}" / "model.safetensors")
    worn = trainings.weights(run)
    assert kept.keys() == worn.keys()
    assert all(kept[name].equal(worn[name]) for name in kept)


def test_steps_are_told_in_their_order(run):
    assert run_folder.checkpoints("kept") == [f"run:kept@step-{step}" for step in sorted(trainings.looks(run))]


@pytest.mark.parametrize("step", ["step-999", "step-", "", "../model", "seed-1-step-2", "step-2/.."])
def test_a_step_that_was_not_kept_is_refused_with_those_there_are(run, step):
    assert model_names.find("run:kept").folder == run.model
    with pytest.raises(ModelNotFound, match="There are: run:kept@step-0"):
        model_names.find(f"run:kept@{step}") if step else model_names.find("run:kept@step-x")


def test_a_run_that_kept_none_says_how_to_keep_them(place):
    trainings.train(trainings.new(place, "simcse", name="unkept", settings={"steps": 2}, test=None))
    assert run_folder.checkpoints("unkept") == []
    with pytest.raises(ModelNotFound, match="keep_steps=on"):
        model_names.find("run:unkept@step-1")


def test_seeds_keep_their_steps_apart(place):
    asked = {"steps": 2, "keep_steps": True}
    trainings.train(trainings.new(place, "simcse", name="two", settings=asked, seeds=(3, 4), test=None))
    assert run_folder.checkpoints("two")[0] == "run:two@seed-3-step-0"
    assert run_folder.checkpoints("two")[-1] == "run:two@seed-4-step-2"
