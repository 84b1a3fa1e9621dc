"""Test the models and the pooler weights that a run keeps at every evaluation."""

import numpy as np
import pytest
from safetensors.torch import load_file

from explorer import run_folder
from explorer.data.tables import text_rows
from explorer.encoding.load.loading import load
from explorer.encoding.locate import model_names
from explorer.encoding.locate.model_names import of_folder
from explorer.encoding.read.pooling import OWN
from explorer.errors import ModelNotFound
from explorer.measuring.geometry.vector_geometry import probe_places
from explorer.measuring.scores.layer_scores import score_layers
from explorer.progress import finish
from explorer.run_folder import Evaluation
from explorer.training.loop.preparing import prepare
from explorer.training.record import runs
from explorer.training.record.recorder import layer_weights
from tests import trainings
from tests.tiny_models import LAYERS
from tests.trainings import looks, new, recipe, train


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


def test_steps_are_told_in_order_and_the_model_of_a_run_is_that_of_its_best(run):
    best = [line.step for line in run.metrics() if isinstance(line, Evaluation) and line.best][-1]
    assert best > 0
    kept = load_file(run.folder / "steps" / f"step-{best}" / "model.safetensors")
    worn = trainings.weights(run)
    assert kept.keys() == worn.keys()
    assert all(kept[name].equal(worn[name]) for name in kept)
    assert run_folder.checkpoints("kept") == [f"run:kept@step-{step}" for step in sorted(trainings.looks(run))]


@pytest.mark.parametrize("step", ["step-999", "step-", "", "../model", "seed-1-step-2", "step-2/.."])
def test_a_step_that_was_not_kept_is_refused_with_those_there_are(run, step):
    assert model_names.find("run:kept").folder == run.model
    with pytest.raises(ModelNotFound, match="There are: run:kept@step-0"):
        model_names.find(f"run:kept@{step}") if step else model_names.find("run:kept@step-x")


def test_seeds_keep_their_steps_apart_and_a_run_that_kept_none_says_how_to(place):
    trainings.train(trainings.new(place, "simcse", name="unkept", settings={"steps": 2}, test=None))
    assert run_folder.checkpoints("unkept") == []
    with pytest.raises(ModelNotFound, match="keep_steps=on"):
        model_names.find("run:unkept@step-1")
    asked = {"steps": 2, "keep_steps": True}
    trainings.train(trainings.new(place, "simcse", name="two", settings=asked, seeds=(3, 4), test=None))
    assert run_folder.checkpoints("two")[0] == "run:two@seed-3-step-0"
    assert run_folder.checkpoints("two")[-1] == "run:two@seed-4-step-2"


@pytest.fixture(scope="module")
def pooled(place):
    """A pooled with a pooler, looked at after every other step."""
    settings = {"steps": 3, "learning_rate": 1e-2}
    return train(new(place, "layer-attention", name="listens", settings=settings))


def test_every_look_keeps_the_weights_of_the_pooler(pooled):
    kept = [layer_weights(pooled, 1, step) for step in looks(pooled)]
    assert len(kept) > 2
    for weights in kept:
        assert weights.shape == (LAYERS + 1, LAYERS + 1)
        assert weights.sum(-1) == pytest.approx(np.ones(LAYERS + 1), abs=1e-5)
    assert not np.allclose(kept[0], kept[-1], atol=1e-6), "it learned"


def test_those_of_the_best_step_are_the_models_own(pooled, place):
    pairs = finish(prepare(recipe(place))).dev
    encoder = load(of_folder("tuned", pooled.model), precision="float32", device="cpu")
    sentences = [pairs.sentences[at] for at in probe_places(pairs.sentences)]
    slow = []
    for sentence in sentences:
        states = encoder.states([sentence])
        slow.append(encoder.head.layers.weights(states.hidden, states.mask)[0].numpy())
    assert layer_weights(pooled, 1, pooled.status().best_step) == pytest.approx(sum(slow) / len(slow), abs=1e-5)


def test_a_run_without_a_pooler_keeps_none(place):
    plain = train(new(place, name="plain", settings={"steps": 2}))
    assert looks(plain)
    assert not list(plain.folder.rglob("*layers.npy"))
    assert layer_weights(plain, 1, 0) is None


def test_weights_that_are_broken_off_are_none(pooled):
    (pooled.folder / "probe" / "seed-1-step-000099-layers.npy").write_bytes(b"")
    assert layer_weights(pooled, 1, 99) is None


def test_a_model_knows_its_run_and_no_other_folder_does(pooled, tmp_path):
    assert runs.of_model(pooled.model) == pooled
    for folder in (pooled.folder, pooled.folder / "probe", tmp_path, tmp_path / "model"):
        assert runs.of_model(folder) is None
