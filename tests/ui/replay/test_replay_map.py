"""Test that the map of a run is that of its own vectors, also where another run has taken its name."""

import json
from itertools import product

import numpy as np

from explorer.run_folder import PROBE, PROBE_SENTENCES, probe_file
from explorer.run_folder import STEPS as STEPS_FOLDER
from explorer.training.record.runs import Run
from explorer.ui.replay import replay_view, step_grid

STEPS = (0, 50)


def run_at(folder, seed):
    """A run with the vectors of eight sentences at two steps."""
    (folder / PROBE).mkdir(parents=True)
    (folder / PROBE / PROBE_SENTENCES).write_text(json.dumps([f"sentence {at}" for at in range(8)]))
    for step in STEPS:
        np.save(probe_file(folder, 1, step), np.random.default_rng([seed, step]).normal(size=(8, 4)))
    return Run(folder)


def swapped(one, other):
    """Another folder in the place of one."""
    one.rename(one.with_name("old"))
    other.rename(one)


def test_a_run_in_the_place_of_another_has_its_own_map(tmp_path):
    run, other = run_at(tmp_path / "a", 0), run_at(tmp_path / "b", 1)
    before, expected = (replay_view.travel_of(one, 1, STEPS)[0].places for one in (run, other))
    assert not np.array_equal(before, expected), "the premise"
    quality = replay_view.map_quality(run, 1, STEPS, 1, "PCA", before[1])
    swapped(run.folder, other.folder)
    after = replay_view.travel_of(run, 1, STEPS)[0].places
    assert np.array_equal(after, expected)
    assert replay_view.map_quality(run, 1, STEPS, 1, "PCA", after[1]) != quality


def test_scores_of_steps_are_those_of_the_models_that_are_there(tmp_path):
    names = [f"run:a@step-{step}" for step in STEPS]
    for home, step in product("ab", STEPS):
        folder = tmp_path / home / STEPS_FOLDER / f"step-{step}"
        folder.mkdir(parents=True)
        (folder / "model.safetensors").write_text(home)
    run = Run(tmp_path / "a")
    before = step_grid.models_key(run, names)
    assert step_grid.models_key(run, names) == before
    assert step_grid.models_key(run, names[:1]) != before
    swapped(run.folder, tmp_path / "b")
    assert step_grid.models_key(run, names) != before
