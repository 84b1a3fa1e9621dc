"""Test that the demonstration's recipe is runnable, and trains on nothing that it is tested on."""

from explorer.data import sample
from explorer.data.corpora import SHIPPED, corpus
from explorer.training import demonstration
from explorer.training.recipe import from_yaml


def test_it_is_a_whole_recipe_on_shipped_text():
    recipe = demonstration.recipe()
    assert recipe == recipe.checked()
    assert set(recipe.data) <= set(SHIPPED)
    assert (recipe.dev, recipe.test) == (sample.DEV, sample.TEST)
    assert from_yaml(recipe.as_yaml(), "a run").settings == recipe.settings


def test_it_goes_through_its_text_at_least_half_and_at_most_three_times():
    recipe = demonstration.recipe()
    rows, schedule = corpus(recipe.data, recipe.kind.rows)[0], recipe.schedule()
    assert 0.5 <= schedule.updates(len(rows)) * schedule.batch_size / len(rows) <= 3
