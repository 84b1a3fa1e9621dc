"""Test that a run is taken for the training of a recipe only if model and text are the same, not if their names are."""

from dataclasses import replace

import pytest

from explorer.places import write_whole
from explorer.run_folder import RECIPE
from explorer.studies.recipe_runs import RecipeRuns
from explorer.training.recipe import Recipe
from explorer.training.record import runs
from explorer.training.record import status as statuses
from tests.tiny_models import save_tiny


@pytest.fixture
def recipe(tmp_path, monkeypatch):
    """Two seeds of a recipe on a text of two versions."""
    monkeypatch.setenv("STRATA_RUNS", str(tmp_path / "runs"))
    write_text(tmp_path, "first")
    save_tiny("bert", tmp_path / "tiny")
    return Recipe("simcse", str(tmp_path / "tiny"), (str(tmp_path / "text.txt"),))


def write_text(home, version):
    (home / "text.txt").write_text("".join(f"{version} sentence {at}\n" for at in range(100)))


def finished(recipe, seed, name):
    """The run of a seed as it is when it has ended, on what the names of the recipe mean now."""
    one = replace(recipe, seeds=(seed,))
    run = runs.new(one, name)
    made = replace(one, made_with=RecipeRuns().digests(one))
    write_whole(run.folder / RECIPE, lambda file: file.write(made.as_yaml().encode()))
    statuses.write(run.folder, replace(run.status(), state=statuses.FINISHED))
    return run


def found(recipe, *seeds):
    return [run and run.name for run in RecipeRuns().of([replace(recipe, seeds=(seed,)) for seed in seeds])]


def test_a_run_of_another_text_or_model_with_the_same_name_is_another_training(recipe, tmp_path):
    finished(recipe, 1, "first")
    assert found(recipe, 1, 2) == ["first", None]
    write_text(tmp_path, "second")
    assert found(recipe, 1) == [None]
    finished(recipe, 1, "second")
    assert found(recipe, 1) == ["second"]
    write_text(tmp_path, "first")
    assert found(recipe, 1) == ["first"]
    save_tiny("bert", tmp_path / "tiny", seed=1)
    assert found(recipe, 1) == [None]


def test_without_its_text_the_seeds_of_one_version_stay(recipe, tmp_path):
    for seed in (1, 2):
        finished(recipe, seed, f"first-{seed}")
    write_text(tmp_path, "second")
    finished(recipe, 1, "second-1")
    (tmp_path / "text.txt").unlink()
    assert found(recipe, 1, 2) == ["second-1", None], "never seeds of two texts in one row"


def test_without_its_text_a_run_of_another_model_is_another_training(recipe, tmp_path):
    finished(recipe, 1, "first")
    (tmp_path / "text.txt").unlink()
    assert found(recipe, 1) == ["first"]
    save_tiny("bert", tmp_path / "tiny", seed=1)
    assert found(recipe, 1) == [None]


def test_a_run_that_was_stopped_on_another_text_is_not_resumed(recipe, tmp_path):
    run = finished(recipe, 1, "first")
    statuses.write(run.folder, replace(run.status(), state=statuses.STOPPED))
    waiting = runs.new(replace(recipe, seeds=(2,)), "waiting")
    assert found(recipe, 1, 2) == ["first", waiting.name]
    write_text(tmp_path, "second")
    assert found(recipe, 1, 2) == [None, waiting.name], "one that has not begun has read no text"
