"""Test the pooler weights that a run records at every evaluation."""

import numpy as np
import pytest

from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import of_folder
from explorer.measuring.geometry.vector_geometry import probe_places
from explorer.progress import finish
from explorer.training.loop.preparing import prepare
from explorer.training.record import runs
from explorer.training.record.recorder import layer_weights
from tests.tiny_models import LAYERS
from tests.trainings import looks, new, recipe, train


@pytest.fixture(scope="module")
def run(place):
    """A run with a pooler, looked at after every other step."""
    settings = {"steps": 6, "evaluate_every": 2, "learning_rate": 1e-2}
    return train(new(place, "layer-attention", name="listens", settings=settings))


def test_every_look_keeps_the_weights_of_the_pooler(run):
    kept = [layer_weights(run, 1, step) for step in looks(run)]
    assert len(kept) > 2
    for weights in kept:
        assert weights.shape == (LAYERS + 1, LAYERS + 1)
        assert weights.sum(-1) == pytest.approx(np.ones(LAYERS + 1), abs=1e-5)
    assert not np.allclose(kept[0], kept[-1], atol=1e-6), "it learned"


def test_those_of_the_best_step_are_the_models_own(run, place):
    pairs = finish(prepare(recipe(place))).dev
    encoder = load(of_folder("tuned", run.model), precision="float32", device="cpu")
    sentences = [pairs.sentences[at] for at in probe_places(pairs.sentences)]
    slow = []
    for sentence in sentences:
        states = encoder.states([sentence])
        slow.append(encoder.head.layers.weights(states.hidden, states.mask)[0].numpy())
    assert layer_weights(run, 1, run.status().best_step) == pytest.approx(sum(slow) / len(slow), abs=1e-5)


def test_a_run_without_a_pooler_keeps_none(place):
    plain = train(new(place, name="plain", settings={"steps": 2}))
    assert looks(plain)
    assert not list(plain.folder.rglob("*layers.npy"))
    assert layer_weights(plain, 1, 0) is None


def test_weights_that_are_broken_off_are_none(run):
    path = run.folder / "probe" / "seed-1-step-000099-layers.npy"
    path.write_bytes(b"")
    assert layer_weights(run, 1, 99) is None


def test_a_model_knows_its_run_and_no_other_folder_does(run, tmp_path):
    assert runs.of_model(run.model) == run
    for folder in (run.folder, run.folder / "probe", tmp_path, tmp_path / "model"):
        assert runs.of_model(folder) is None
