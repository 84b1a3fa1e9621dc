"""Test that the estimate of a recipe is that of the files that its names mean now."""

from dataclasses import replace

import pytest

from explorer.training.recipe import Recipe
from explorer.ui.runs import training_queue
from tests.tiny_models import save_tiny


@pytest.fixture
def recipe(tmp_path):
    for name in ("text.txt", "dev.csv", "test.csv"):
        (tmp_path / name).write_text("one\ntwo\n")
    data, dev, test = (str(tmp_path / name) for name in ("text.txt", "dev.csv", "test.csv"))
    generator = {"generator": str(save_tiny("bert", tmp_path / "generator"))}
    return Recipe("diffcse", str(save_tiny("bert", tmp_path / "tiny")), (data,), {}, dev, test, settings=generator)


@pytest.mark.parametrize("name", ["text.txt", "dev.csv", "test.csv", "tiny", "generator"])
def test_another_file_of_the_same_name_is_estimated_anew(recipe, tmp_path, name):
    before = training_queue.trial_key(recipe)
    assert training_queue.trial_key(replace(recipe, made_with={"data_rows": 2})) == before
    if "." in name:
        (tmp_path / name).write_text("one\nten\n")
    else:
        save_tiny("bert", tmp_path / name, seed=1)
    assert training_queue.trial_key(recipe) != before
